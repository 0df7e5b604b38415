"""How far a batch is, for a person."""

import io
import sys

import pytest

from kinetic.jobs.bar import bar
from kinetic_core.model.job import JobStatus


class Terminal(io.StringIO):
    """What looks like a terminal."""

    def isatty(self) -> bool:
        return True


def test_at_a_terminal_a_live_bar_shows_how_many_of_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with bar("batch-0a1b2c3d") as drawn:
        assert drawn.every_s is not None
        drawn.show({JobStatus.RUNNING: 2}, None)
        drawn.show({JobStatus.RUNNING: 1, JobStatus.SUCCEEDED: 1}, 2)
    assert "batch-0a1b2c3d" in terminal.getvalue()
    assert "1/2" in terminal.getvalue()
    assert "1 RUNNING, 1 SUCCEEDED" in terminal.getvalue()


def test_without_rich_a_terminal_gets_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with bar("batch-0a1b2c3d") as drawn:
        drawn.show({}, None)
        drawn.show({JobStatus.FAILED: 1}, 3)
    assert terminal.getvalue() == "kinetic: batch-0a1b2c3d: 1 of 3 inputs have ended: 1 FAILED\n"
