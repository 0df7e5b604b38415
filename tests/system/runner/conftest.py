"""A bench for every test of the runner."""

from pathlib import Path

import pytest

from tests.system.runner.artifacts import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Return an empty bench in a folder of its own."""
    folder = tmp_path / "job"
    folder.mkdir()
    return Bench(folder=folder)
