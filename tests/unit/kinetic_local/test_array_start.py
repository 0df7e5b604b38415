"""Handing an array to the process that keeps it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from kinetic_core.errors import SubmissionError
from kinetic_local import array


def test_a_keeper_that_reads_nothing_is_a_failed_submission_and_no_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    heard: list[int] = []
    before = signal.signal(signal.SIGPIPE, lambda number, _: heard.append(number))
    try:
        with pytest.raises(SubmissionError, match="exit code 3"):
            array._hand_over(bytes(1 << 20), lock)
    finally:
        signal.signal(signal.SIGPIPE, before)
        os.close(lock)
    assert heard == []
