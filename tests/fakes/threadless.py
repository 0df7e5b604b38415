"""A process that has no room for one more thread."""

import threading

import pytest


def no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no thread be started from now on."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
