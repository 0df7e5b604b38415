"""The pytest plugin: fixtures for tests of plugins and of code that uses them. pytest finds it by itself.

It imports nothing of ours before a fixture is asked for.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kinetic.testing.log import RecordingLog
    from kinetic_core.plugin import DriverContext


@pytest.fixture
def kinetic_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the test away from the real home, and from all settings of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    for name in tuple(os.environ):
        if name.startswith("KINETIC_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


@pytest.fixture
def kinetic_log() -> "RecordingLog":
    """Return a logger that keeps what it is told."""
    from kinetic.testing.log import RecordingLog

    return RecordingLog()


@pytest.fixture
def kinetic_context(kinetic_home: Path, kinetic_log: "RecordingLog") -> "DriverContext":
    """Return what a driver is opened with, in a home of this test's own."""
    from kinetic_core.plugin import DriverContext

    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(kinetic_home)}
    return DriverContext(log=kinetic_log, environ=environ, home=kinetic_home)
