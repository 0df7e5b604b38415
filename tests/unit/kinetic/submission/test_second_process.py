"""The process beside the client: started while a tree is scanned, where there is enough to do, and always ended."""

import importlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kinetic.submission import context
from kinetic.submission.pipeline import package_only
from kinetic_core.errors import SerializationError
from kinetic_core.model.request import RunOptions
from kinetic_core.packaging import archive, scan, treewalk
from kinetic_core.packaging.exchange import Exchange
from kinetic_core.packaging.secondprocess import SecondProcess, own_interpreter

if TYPE_CHECKING:
    import subprocess


class Noted(SecondProcess):
    """It notes the processes that were started."""

    def __init__(self) -> None:
        super().__init__(own_interpreter())
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self) -> Exchange | None:
        exchange = super().start()
        assert self.running is not None
        self.started.append(self.running)
        return exchange


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> Noted:
    noted = Noted()
    monkeypatch.setattr(context, "SecondProcess", lambda _: noted)
    monkeypatch.setattr(treewalk, "WORTH_A_PROCESS_FILES", 1)
    monkeypatch.setattr(context, "_threads", lambda: 2)
    return noted


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., object]]:
    root = tmp_path / "project"
    root.mkdir()
    (root / "adding.py").write_text("def add(*values):\n    return values\n")
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(root)
    importlib.invalidate_caches()
    module: Any = importlib.import_module("adding")
    yield lambda *args: package_only(module.add, args, {}, RunOptions(), tmp_path / "out", report=False)
    del sys.modules["adding"]


def all_ended(second: Noted) -> bool:
    return second.running is None and all(one.returncode == -signal.SIGKILL for one in second.started)


def test_only_a_first_packaging_starts_it_ahead(package: Callable[..., object], second: Noted) -> None:
    package(1)
    assert len(second.started) == 1
    assert all_ended(second)
    package(1)
    assert len(second.started) == 1


def test_a_later_one_starts_it_where_many_names_are_known(
    package: Callable[..., object], second: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(1)
    second.started.clear()
    package(1)
    monkeypatch.setattr(scan, "WORTH_A_PROCESS_LOOKS", 2)
    package(1)
    assert second.started == []
    monkeypatch.setattr(scan, "WORTH_A_PROCESS_LOOKS", 1)
    package(1)
    assert len(second.started) == 1
    assert all_ended(second)


def test_what_was_started_ahead_packs(
    package: Callable[..., object], second: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "WORTH_A_PROCESS_FILES", 1)
    package(1)
    ahead, again = second.started
    assert ahead is again
    assert all_ended(second)


def test_it_ends_where_the_packaging_fails(package: Callable[..., object], second: Noted) -> None:
    with pytest.raises(SerializationError):
        package(threading.Lock())
    assert len(second.started) == 1
    assert all_ended(second)
