"""A bench for every test of the runner."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.runner.artifacts import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Return an empty bench in a folder of its own."""
    folder = tmp_path / "job"
    folder.mkdir()
    return Bench(folder=folder)


@pytest.fixture
def short_temp() -> Iterator[dict[str, str]]:
    """Return an environment whose temporary directory has a name that sockets can have."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="k-") as folder:
        yield {"TMPDIR": folder}
