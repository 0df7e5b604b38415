import os
import signal
import sys
from pathlib import Path

import pytest

from kinetic_core.packaging import treewalk
from kinetic_core.packaging.rules import RuleSet, builtin_rules
from kinetic_core.packaging.scan import scan
from kinetic_core.packaging.secondprocess import SecondProcess, own_interpreter
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow


def test_it_is_started_once_and_ended_once() -> None:
    process = SecondProcess(own_interpreter())
    process.dismiss()
    process.end()
    process.start()
    first = process.running
    process.start()
    assert first is not None
    assert process.running is first
    process.end()
    process.end()
    assert first.returncode == -signal.SIGKILL


def test_it_can_be_started_again() -> None:
    process = SecondProcess(own_interpreter())
    pids = set()
    for _ in range(2):
        process.start()
        assert process.running is not None
        pids.add(process.running.pid)
        process.end()
    assert len(pids) == 2


def test_an_application_that_brings_its_interpreter_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert own_interpreter() == ""


class Noted(SecondProcess):
    """It notes that it is asked to start, and does not."""

    def __init__(self) -> None:
        super().__init__("")
        self.times = 0

    def start(self) -> None:
        self.times += 1


@pytest.mark.parametrize(("many", "times"), [(1, 1), (5, 1), (6, 1), (7, 0)])
def test_a_scan_starts_it_once_when_there_are_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int, times: int
) -> None:
    monkeypatch.setattr(treewalk, "WORTH_A_PROCESS_FILES", many)
    grow(tmp_path, {"a": "1", "b/a": "2", "b/b": "3", "c/a.pyc": "4", "c/b:": "5", "d/a": "6"})
    second = Noted()
    scan(tmp_path, NO_RULES, second=second)
    assert second.times == times


def test_what_a_rule_excludes_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treewalk, "WORTH_A_PROCESS_FILES", 3)
    grow(tmp_path, {"a": "1", "b": "2", ".git/c": "3", ".git/d": "4"})
    second = Noted()
    scan(tmp_path, RuleSet.compile(builtin_rules({})), second=second)
    assert second.times == 0


def test_nobody_is_signalled_once_it_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    process = SecondProcess(own_interpreter())
    process.start()
    assert process.running is not None
    process.dismiss()
    process.running.wait()
    monkeypatch.setattr(os, "killpg", None)
    process.end()
    assert process.running is None
