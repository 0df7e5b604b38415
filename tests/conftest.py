"""What every test stands on: a home of its own and none of the developer's settings."""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How fast examples are made says how busy the machine is.
settings.register_profile("kinetic", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kinetic")

# A shell has what it runs in the background ignore Ctrl-C, and programs that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def isolated_home(kinetic_home: Path) -> Path:
    """Keep every test away from the real home and from the caller's configuration."""
    return kinetic_home


@pytest.fixture
def private_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test a temporary directory of its own, to look at what was left in it."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    tempfile.tempdir = None
