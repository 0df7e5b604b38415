"""What every test stands on: a home of its own and none of the developer's settings."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("kinetic", deadline=None, print_blob=True)
settings.load_profile("kinetic")


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the test away from the real home and from the caller's configuration."""
    home = tmp_path_factory.mktemp("home")
    for name in os.environ:
        if name.startswith("KINETIC_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


@pytest.fixture
def private_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test a temporary directory of its own, to look at what was left in it."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    tempfile.tempdir = None
