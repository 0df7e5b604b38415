"""Supervision: watching a runner, ending it and what it left, making further attempts, recording the end."""

import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from kinetic_core.wire.removal import remove_tree
from kinetic_local.attempt import Attempt, start
from kinetic_local.job import Job
from kinetic_local.outcome import Outcome, outcome_of
from kinetic_local.pod import append_event, cancel_requested, open_events
from kinetic_local.processes import descendants, signal_all, start_mark
from kinetic_local.spawn import adopt_orphans
from kinetic_local.turns import drop_ticket, take_slot

if TYPE_CHECKING:
    from kinetic_local.spawn import StartRunner

_FIRST_POLL_S: Final = 0.002
_LAST_POLL_S: Final = 0.05
_SWEEPS: Final = 100
_PEEK: Final = os.WEXITED | os.WNOHANG | os.WNOWAIT
"""Look for a child that has ended, and leave it there."""


class Supervision:
    """Sees one job through, from its ticket to its last event."""

    def __init__(self, job: Job, *, start_runner: "StartRunner") -> None:
        """Take over the job; from now on a signal is a wish and no sudden death.

        Args:
            job: What to see through.
            start_runner: Starts the runner of an attempt, by `spawn` or as it does.
        """
        self._job = job
        self._start_runner = start_runner
        self._stopping = False
        self._awake, wake = os.pipe()
        for end in (self._awake, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._on_child)
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        adopt_orphans()

    def run(self, first: Attempt | None) -> None:
        """Wait for a slot, make the attempts, record the end.

        Args:
            first: The first attempt, when there was a free slot at once; the slot is held until this process ends.
        """
        try:
            outcome = self._attempts(first) if first or self._take_turn() else self._stopped()
        except Exception as error:  # noqa: BLE001 - whatever it is, the job must end with a reason
            outcome = Outcome("FAILED", f"the job's supervisor failed: {type(error).__name__}: {error}")
        self._record("job_ended", outcome.status, outcome.reason, exit_code=outcome.exit_code)
        # Only now: who finds the file gone looks for the last event.
        Path(self._job.live).unlink(missing_ok=True)

    def _take_turn(self) -> bool:
        """Wait for a slot; `False` when told to stop before."""
        job, pause_s = self._job, _FIRST_POLL_S
        while not self._stopping:
            if take_slot(job.queue, job.ticket, job.limit) is not None:
                return True
            self._sleep(pause_s)
            pause_s = min(2 * pause_s, _LAST_POLL_S)
        drop_ticket(job.queue, job.ticket)
        return False

    def _attempts(self, first: Attempt | None) -> Outcome:
        attempt = first or start(self._job, 1, self._start_runner)
        for number in range(1, self._job.retries + 1):
            outcome = self._see_through(attempt, number)
            if not outcome.infrastructure or self._stopping:
                return outcome
            self._record("job_retried", "RUNNING", outcome.reason, attempt=number)
            attempt = start(self._job, number + 1, self._start_runner)
        return self._see_through(attempt, self._job.retries + 1)

    def _see_through(self, attempt: Attempt, number: int) -> Outcome:
        """Watch one attempt until nothing of it is left, neither a process nor a file."""
        try:
            if attempt.error is not None:
                return Outcome("FAILED", _not_started(attempt.error, attempt.folder), infrastructure=True)
            pid = attempt.pid
            self._record("job_started", "RUNNING", pid=pid, mark=start_mark(pid), attempt=number)
            outcome = self._watch(pid)
            self._sweep(pid)
            return outcome
        finally:
            _remove(attempt.folder)

    def _watch(self, pid: int) -> Outcome:
        """Wait for the runner's end, and bring it about on request and when its time is up."""
        job = self._job
        deadline_s = None if job.timeout_s is None else time.monotonic() + job.timeout_s
        verdict: Outcome | None = None
        while (status := self._reap(pid)) is None:
            late = deadline_s is not None and time.monotonic() >= deadline_s
            if verdict is None and (self._stopping or late):
                timed_out = Outcome("FAILED", f"timed out after {job.timeout_s:g} s") if late else None
                verdict = timed_out or self._stopped()
                self._signal(pid, signal.SIGTERM)
                deadline_s = time.monotonic() + job.grace_s
            elif late:
                self._signal(pid, signal.SIGKILL)
                deadline_s = None
            self._sleep(None if deadline_s is None else max(0.0, deadline_s - time.monotonic()))
        return verdict or outcome_of(status, has_result=self._has_result())

    def _stopped(self) -> Outcome:
        if cancel_requested(self._job.pod):
            return Outcome("CANCELLED", "cancelled")
        return Outcome("FAILED", "the job's supervisor was terminated by SIGTERM")

    def _has_result(self) -> bool:
        """Tell whether the result is there, or cannot be expected any more because the job was cleaned up."""
        result = self._job.result
        return not result or Path(result).exists() or not Path(self._job.pod).is_dir()

    def _reap(self, runner: int) -> int | None:
        """Collect all children that ended; return the runner's wait status if it was among them."""
        found = None
        with suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, _PEEK)) is not None:
                if ended.si_pid == runner:
                    # Before it is collected: afterwards its id may soon mean a group of somebody else.
                    signal_all(runner, (), signal.SIGKILL)
                status = os.waitpid(ended.si_pid, 0)[1]
                found = status if ended.si_pid == runner else found
        return found

    def _sweep(self, runner: int) -> None:
        """Kill whatever the runner, which was collected with its group, left running out of it."""
        for _ in range(_SWEEPS):
            self._reap(runner)
            try:
                os.waitid(os.P_ALL, 0, _PEEK)
            except ChildProcessError:
                return
            signal_all(None, descendants(os.getpid()), signal.SIGKILL)
            self._sleep(_FIRST_POLL_S)

    def _signal(self, group: int, number: signal.Signals) -> None:
        signal_all(group, descendants(os.getpid()), number)

    def _record(self, kind: str, status: str, reason: str = "", **details: str | int | None) -> None:
        """Append an event; when the pod's folder was cleaned up meanwhile, nobody will ask."""
        with suppress(FileNotFoundError):
            events = open_events(self._job.pod)
            append_event(events, kind, status, reason, **details)
            os.close(events)

    def _sleep(self, timeout_s: float | None) -> None:
        """Sleep until a signal arrives or the time is up."""
        if select.select([self._awake], [], [], timeout_s)[0]:
            os.read(self._awake, 1 << 10)

    def _on_child(self, _number: int, _frame: FrameType | None) -> None:
        """Do nothing: the signal's arrival ends the sleep."""

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True


def _not_started(error: OSError, folder: str) -> str:
    told = f"the runner could not be started: {error.strerror}"
    if error.filename is None:
        return told
    told = f"{told}: {error.filename}"
    if str(error.filename).startswith(folder):
        return f"{told}; set TMPDIR to a directory that you can write"
    return told


def _remove(folder: str) -> None:
    try:
        remove_tree(Path(folder))
    except OSError as error:
        sys.stderr.write(f"kinetic: cannot remove the workspace {folder}: {error}\n")
