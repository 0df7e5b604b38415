"""Supervision: watching runners, ending them, making further attempts, recording the end."""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kinetic_core.wire.removal import remove_tree
from kinetic_local.attempt import Attempt, start
from kinetic_local.children import Children
from kinetic_local.job import Job
from kinetic_local.outcome import Limits, Outcome, outcome_of, outcome_of_hosts
from kinetic_local.pod import append_event, cancel_requested, open_events
from kinetic_local.processes import start_mark
from kinetic_local.turns import drop_ticket, take_slot

if TYPE_CHECKING:
    from kinetic_local.spawn import StartRunner

_FIRST_POLL_S: Final = 0.002
_LAST_POLL_S: Final = 0.05
_SIGNS_OF_NO_MEMORY: Final = (b"MemoryError", b"Cannot allocate memory", b"failed to map segment")
"""In a record: of the interpreter, the system, and the loader of extension modules."""


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
        self._children = Children()

    def run(self, first: Attempt | None, *, has_slot: bool, has_venv: bool) -> None:
        """Wait for a slot, make what the job runs in, make the attempts, record the end.

        Args:
            first: The first attempt, where it could start at once.
            has_slot: There was a free slot; it is held until this process ends.
            has_venv: The virtual environment is held too, or none is needed.
        """
        try:
            outcome = self._in_turn(first, has_slot=has_slot, has_venv=has_venv)
        except Exception as error:  # noqa: BLE001 - whatever it is, the job must end with a reason
            outcome = Outcome("FAILED", f"the job's supervisor failed: {type(error).__name__}: {error}")
        self.record(
            "job_ended",
            outcome.status,
            outcome.reason,
            exit_code=outcome.exit_code,
            failed_host=outcome.failed_host,
            also_failed=",".join(map(str, outcome.also_failed)) or None,
        )
        # Only now: who finds the file gone looks for the last event.
        Path(self._job.live).unlink(missing_ok=True)

    def _take_turn(self) -> bool:
        """Wait for a slot; `False` when told to stop before."""
        job, pause_s = self._job, _FIRST_POLL_S
        while not self._children.stopping:
            if take_slot(job.queue, job.ticket, job.limit) is not None:
                return True
            self._children.sleep(pause_s)
            pause_s = min(2 * pause_s, _LAST_POLL_S)
        drop_ticket(job.queue, job.ticket)
        return False

    def _in_turn(self, first: Attempt | None, *, has_slot: bool, has_venv: bool) -> Outcome:
        if not has_slot and not self._take_turn():
            return self._stopped()
        if not has_venv:
            from kinetic_local.making import make_venv

            failed = make_venv(self._job, self)
            if failed is not None:
                return failed
        return self._attempts(first)

    def _attempts(self, first: Attempt | None) -> Outcome:
        attempt = first or start(self._job, 1, self._start_runner)
        for number in range(1, self._job.retries + 1):
            outcome = self._see_through(attempt, number)
            if not outcome.infrastructure or self._children.stopping:
                return outcome
            self.record("job_retried", "RUNNING", outcome.reason, attempt=number)
            attempt = start(self._job, number + 1, self._start_runner)
        return self._see_through(attempt, self._job.retries + 1)

    def _see_through(self, attempt: Attempt, number: int) -> Outcome:
        """Watch one attempt until nothing of it is left, neither a process nor a file."""
        try:
            if attempt.error is not None:
                self.end(attempt.pids)
                return Outcome("FAILED", _not_started(attempt.error, attempt.folder), infrastructure=True)
            for host, pid in enumerate(attempt.pids):
                if host == 0:
                    self.record("job_started", "RUNNING", pid=pid, mark=start_mark(pid), attempt=number)
                else:
                    self.record("host_started", "RUNNING", pid=pid, mark=start_mark(pid), attempt=number, host=host)
            return self.watch(attempt.pids, self._host_outcome)
        finally:
            if attempt.rendezvous is not None:
                attempt.rendezvous.close()
            _remove(attempt.folder)

    def watch(self, pids: Sequence[int], outcome_of_host: Callable[[int, int], Outcome]) -> Outcome:
        """Wait until all of some groups have ended, and bring it about on request, late, or when one failed.

        Args:
            pids: Of the groups' leaders, by host.
            outcome_of_host: Says what a host's wait status means.
        """
        job, running = self._job, {pid: host for host, pid in enumerate(pids)}
        deadline_s = None if job.timeout_s is None else time.monotonic() + job.timeout_s
        verdict: Outcome | None = None
        failed: dict[int, Outcome] = {}
        is_ending = False
        while True:
            for pid, status in self._children.reap(running).items():
                outcome = outcome_of_host(host := running.pop(pid), status)
                if not is_ending:
                    failed |= {host: outcome} if outcome.status != "SUCCEEDED" else {}
                    self._record_host(len(pids), host, outcome)
            if not running:
                break
            late = deadline_s is not None and time.monotonic() >= deadline_s
            if not is_ending and (self._children.stopping or late or failed):
                is_ending = True
                timed_out = Outcome("FAILED", f"timed out after {job.timeout_s:g} s") if late else None
                verdict = None if failed else timed_out or self._stopped()
                self._children.send(signal.SIGTERM, running)
                deadline_s = time.monotonic() + job.grace_s
            elif late:
                self._children.send(signal.SIGKILL, running)
                deadline_s = None
            self._children.sleep(None if deadline_s is None else max(0.0, deadline_s - time.monotonic()))
        self._children.sweep()
        return verdict or outcome_of_hosts(failed, hosts=len(pids))

    def end(self, pids: Sequence[int]) -> None:
        """Kill groups at once, and all that is left of them."""
        self._children.send(signal.SIGKILL, pids)
        self._children.sweep()

    def record(self, kind: str, status: str, reason: str = "", **details: str | int | None) -> None:
        """Append an event; when the pod's folder was cleaned up meanwhile, nobody will ask."""
        with suppress(FileNotFoundError):
            events = open_events(self._job.pod)
            append_event(events, kind, status, reason, **details)
            os.close(events)

    def _record_host(self, hosts: int, host: int, outcome: Outcome) -> None:
        if hosts > 1:
            self.record("host_ended", "RUNNING", outcome.reason, host=host, exit_code=outcome.exit_code)

    def _host_outcome(self, host: int, status: int) -> Outcome:
        job = self._job
        # Hosts other than 0 leave none when all goes well.
        has_result = self._has_result(host) or (host > 0 and status == 0)
        outcome = outcome_of(
            status,
            has_result=has_result,
            limits=Limits(memory=job.memory, cpu_time_s=job.cpu_time_s),
            lacked_memory=bool(job.memory) and self._mentions_memory(host),
        )
        if not has_result:
            from kinetic_local.diskspace import full_place

            written = (Path(job.pod), Path(job.result or job.pod).parent, Path(job.folder).parent)
            full = full_place(map(str, written))
            outcome.reason += f"; the disk of {full} is full" if full is not None else ""
        return outcome

    def _stopped(self) -> Outcome:
        if cancel_requested(self._job.pod):
            return Outcome("CANCELLED", "cancelled")
        return Outcome("FAILED", "the job's supervisor was terminated by SIGTERM")

    def _has_result(self, host: int) -> bool:
        """Tell whether the record is there, or cannot be expected any more because the job was cleaned up."""
        record = self._record_path(host)
        return record is None or record.exists() or not Path(self._job.pod).is_dir()

    def _mentions_memory(self, host: int) -> bool:
        record = self._record_path(host)
        with suppress(OSError):
            return record is not None and any(map(record.read_bytes().__contains__, _SIGNS_OF_NO_MEMORY))
        return False

    def _record_path(self, host: int) -> Path | None:
        """Return where a host leaves its record; `None` where this machine cannot look."""
        if not self._job.result:
            return None
        result = Path(self._job.result)
        return result.with_name(f"{result.stem}-worker-{host}{result.suffix}") if host else result


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
