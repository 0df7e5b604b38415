"""The supervisor: one small process a job, which starts the runner, watches it and records how it ended.

It outlives the client. Before the runner starts, nothing is imported but what a bare interpreter loads in
a millisecond (no json, typing, pathlib or subprocess): the runner starts that much sooner.
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

from kinetic_local.job import Job
from kinetic_local.outcome import Outcome, outcome_of
from kinetic_local.spawn import adopt_orphans, spawn
from kinetic_local.turns import drop_ticket, take_slot

WORKSPACE_PREFIX = "kinetic-"

_FIRST_POLL_S = 0.002
_LAST_POLL_S = 0.05
_SWEEPS = 100


def main() -> None:
    """Read one job from standard input and see it through; without a whole job there is nothing to do."""
    chunks = []
    while chunk := os.read(0, 1 << 16):
        chunks.append(chunk)
    job = Job.from_bytes(b"".join(chunks))
    if job is not None:
        Supervisor(job).run()


class Supervisor:
    """Sees one job through, from its ticket to its last event."""

    def __init__(self, job: Job) -> None:
        """Take over the job and the locks that came with it."""
        self._job = job
        self._stopping = False
        for lock in (job.live_fd, job.ticket_fd):
            os.set_inheritable(lock, False)  # noqa: FBT003 - the standard library's own spelling
        self._awake, wake = os.pipe()
        for end in (self._awake, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._on_child)
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def run(self) -> None:
        """Wait for a slot, make the attempts, record the end."""
        try:
            outcome = self._attempts() if self._take_turn() else self._stopped()
        except Exception as error:  # noqa: BLE001 - whatever it is, the job must end with a reason
            outcome = Outcome("FAILED", f"the job's supervisor failed: {type(error).__name__}: {error}")
        self._record("job_ended", outcome.status, outcome.reason, exit_code=outcome.exit_code)
        # Only now: who finds the file gone looks for the last event.
        with suppress(FileNotFoundError):
            os.unlink(self._job.live)  # noqa: PTH108 - see the module's docstring

    def _take_turn(self) -> bool:
        """Wait for a slot, which this process then holds until it ends; `False` when told to stop before."""
        job, pause_s = self._job, _FIRST_POLL_S
        while not self._stopping:
            if take_slot(job.queue, job.ticket, job.limit) is not None:
                os.close(job.ticket_fd)
                return True
            self._sleep(pause_s)
            pause_s = min(2 * pause_s, _LAST_POLL_S)
        drop_ticket(job.queue, job.ticket)
        return False

    def _attempts(self) -> Outcome:
        for attempt in range(1, self._job.retries + 1):
            outcome = self._attempt(attempt)
            if not outcome.infrastructure or self._stopping:
                return outcome
            self._record("job_retried", "RUNNING", outcome.reason, attempt=attempt)
        return self._attempt(self._job.retries + 1)

    def _attempt(self, attempt: int) -> Outcome:
        """Run the runner once, in a workspace of its own that is gone afterwards."""
        folder = _private_folder(self._job.temporary)
        try:
            try:
                pid = spawn([*self._job.command, "--workspace", f"{folder}/workspace"], self._environ(folder), folder)
            except OSError as error:
                return Outcome("FAILED", f"the runner could not be started: {error.strerror}", infrastructure=True)
            adopt_orphans()
            self._record_start(pid, folder, attempt)
            outcome = self._watch(pid)
            self._sweep(pid)
            return outcome
        finally:
            _remove(folder)

    def _environ(self, folder: str) -> dict[str, str]:
        return self._job.environ | {"TMPDIR": f"{folder}/temporary", "KINETIC_MOUNT_ROOT": f"{folder}/mounts"}

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
        from kinetic_local.pod import cancel_requested

        if cancel_requested(self._job.pod):
            return Outcome("CANCELLED", "cancelled")
        return Outcome("FAILED", "the job's supervisor was terminated by SIGTERM")

    def _has_result(self) -> bool:
        """Tell whether the result is there, or cannot be expected any more because the job was cleaned up."""
        result, pod = self._job.result, self._job.pod
        return not result or os.path.exists(result) or not os.path.isdir(pod)  # noqa: PTH110, PTH112 - see above

    def _reap(self, runner: int) -> int | None:
        """Collect all children that ended; return the runner's wait status if it was among them."""
        found = None
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == runner:
                    found = ended[1]
        return found

    def _sweep(self, group: int) -> None:
        """Kill whatever the runner left running, in its group or out of it."""
        from kinetic_local.processes import descendants, signal_all

        signal_all(group, (), signal.SIGKILL)
        for _ in range(_SWEEPS):
            self._reap(group)
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            signal_all(group, descendants(os.getpid()), signal.SIGKILL)
            self._sleep(_FIRST_POLL_S)

    def _signal(self, group: int, number: signal.Signals) -> None:
        from kinetic_local.processes import descendants, signal_all

        signal_all(group, descendants(os.getpid()), number)

    def _record_start(self, pid: int, folder: str, attempt: int) -> None:
        from kinetic_local.processes import start_mark

        self._record("job_started", "RUNNING", pid=pid, mark=start_mark(pid), folder=folder, attempt=attempt)

    def _record(self, kind: str, status: str, reason: str = "", **details: str | int | None) -> None:
        """Append an event; when the pod's folder was cleaned up meanwhile, nobody will ask."""
        from kinetic_local.pod import append_event, open_events

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


def _private_folder(parent: str) -> str:
    """Make a folder that nobody else can read or guess, with the runner's workspace, mounts and temporary files."""
    folder = f"{parent}/{WORKSPACE_PREFIX}{os.urandom(8).hex()}"
    for path in (folder, f"{folder}/workspace", f"{folder}/mounts", f"{folder}/temporary"):
        os.mkdir(path, 0o700)  # noqa: PTH102 - see the module's docstring
    return folder


def _remove(folder: str) -> None:
    from pathlib import Path

    from kinetic_core.wire.removal import remove_tree

    try:
        remove_tree(Path(folder))
    except OSError as error:
        sys.stderr.write(f"kinetic: cannot remove the workspace {folder}: {error}\n")
