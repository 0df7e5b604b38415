"""What tests of the runner's parts need: a log to look at, and a process that is put back."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tests.fakes.holding import own_threads
from tests.system.runner.artifacts import Bench
from tests.unit.kinetic_runner.box import Box
from tests.unit.kinetic_runner.journal import Journal


@pytest.fixture
def journal() -> Journal:
    """Return an empty log."""
    return Journal()


@pytest.fixture
def own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put back what the runner changes of its process."""
    cwd, path, finders, environ = Path.cwd(), sys.path[:], sys.meta_path[:], dict(os.environ)
    modules, answer, umask = set(sys.modules), signal.getsignal(signal.SIGTERM), os.umask(0o022)
    os.umask(umask)
    yield
    os.umask(umask)
    os.chdir(cwd)
    sys.path[:], sys.meta_path[:] = path, finders
    os.environ.clear()
    os.environ.update(environ)
    signal.signal(signal.SIGTERM, answer)
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) and "kinetic-" in str(sys.modules[name].__file__):
            del sys.modules[name]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide what other tests have left in this process, which would end for it."""
    with own_threads() as own:
        monkeypatch.setattr(threading, "enumerate", lambda: [threading.main_thread(), *own.living])
        monkeypatch.setattr(multiprocessing, "active_children", list)
        yield


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return a bench whose runs keep their private directories in the test's folder."""
    folder = tmp_path / "job"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return Bench(folder=folder)


@pytest.fixture
def memory() -> Iterator[Any]:
    """Return an empty store in memory."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()


@pytest.fixture(params=["zlib", "isal.isal_zlib"])
def box(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Box:
    """Return an empty box, whose small archives are unpacked as large ones are; once without the faster library."""
    monkeypatch.setattr("kinetic_runner.inflate._WORTH_IMPORTING_BYTES", 0)
    monkeypatch.setattr("kinetic_runner.inflate._FASTER", request.param)
    return Box(tmp_path)
