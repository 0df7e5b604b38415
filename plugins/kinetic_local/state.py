"""State: how a job stands, learnt from its pod's folder and from the lock that its supervisor holds."""

import os
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kinetic_core.model.job import JobEvent, JobRef, JobState, JobStatus
from kinetic_core.wire.removal import remove_tree
from kinetic_local.locks import is_locked, try_lock
from kinetic_local.pod import append_event, cancel_requested, open_events, read_events
from kinetic_local.processes import start_mark

_KILLED: Final = "the job's supervisor was killed before the job ended"


class Watch:
    """One job, looked at from a client."""

    def __init__(self, ref: JobRef) -> None:
        """Look at the job that the reference points to."""
        self.job_id = ref.job_id
        self.pod = ref.details.get("pod", "")
        self.live = ref.details.get("live", "")
        self.machine = ref.details.get("machine", "")
        self.is_here = self.machine in ("", os.uname().nodename)

    def is_alive(self) -> bool:
        """Tell whether the job's supervisor lives."""
        return is_locked(self.live)

    def events(self) -> list[dict[str, Any]]:
        """Return what happened so far; when the supervisor died without a last word, say so in its place."""
        events = read_events(self.pod)
        if not events or _ended(events) or not self.is_here or self.is_alive():
            return events
        self._settle()
        return read_events(self.pod)

    def state(self) -> JobState:
        """Return how the job stands."""
        events = self.events()
        if events:
            last = events[-1]
            exit_code = last["details"].get("exit_code")
            return JobState(status=last["status"], reason=last["reason"] or _waiting(last), exit_code=exit_code)
        if self.is_alive():
            return JobState(status=JobStatus.PENDING, reason="starting")
        where = "" if self.is_here else f"; it was submitted on {self.machine}, look for it there"
        return JobState(status=JobStatus.NOT_FOUND, reason=f"there is no such job in {self.pod}{where}")

    def signal_supervisor(self, number: signal.Signals) -> bool:
        """Send the supervisor a signal; tell whether there was one, never another process that has its id now."""
        for event in read_events(self.pod)[:1]:
            pid, mark = event["details"]["pid"], event["details"]["mark"]
            if self.is_here and self.is_alive() and start_mark(pid) == mark:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
                    return True
        return False

    def wait(self, timeout_s: float) -> None:
        """Wait until the supervisor ends, without polling where the platform can, or the time is up."""
        pid = next((event["details"]["pid"] for event in read_events(self.pod)[:1]), None)
        descriptor = _open_process(pid) if pid is not None and self.is_here else None
        if descriptor is None:
            time.sleep(timeout_s)
            return
        try:
            # Alive after its descriptor was opened: the descriptor means this process, not a later one.
            if self.is_alive():
                poller = select.poll()
                poller.register(descriptor, select.POLLIN)
                poller.poll(timeout_s * 1000)
        finally:
            os.close(descriptor)

    def _settle(self) -> None:
        """End what a killed supervisor left, and write the last event for it; once, whoever comes first."""
        lock = try_lock(self.live) if Path(self.live).parent.is_dir() else None
        if lock is None:
            return
        try:
            events = read_events(self.pod)
            if _ended(events):
                return
            for event in events:
                _end_attempt(event["details"])
            cancelled = cancel_requested(self.pod)
            descriptor = open_events(self.pod)
            status, reason = ("CANCELLED", "cancelled") if cancelled else ("FAILED", _KILLED)
            append_event(descriptor, "job_ended", status, reason)
            os.close(descriptor)
            Path(self.live).unlink(missing_ok=True)
        finally:
            os.close(lock)


def job_event(job_id: str, raw: Mapping[str, Any]) -> JobEvent:
    """Return an event of the pod's list as the record of the interface."""
    return JobEvent(
        job_id=job_id,
        kind=raw["kind"],
        at=datetime.fromtimestamp(raw["at_s"], tz=UTC),
        status=JobStatus(raw["status"]),
        reason=raw["reason"],
        details={key: value for key, value in raw["details"].items() if value is not None},
    )


def _ended(events: list[dict[str, Any]]) -> bool:
    return bool(events) and JobStatus(events[-1]["status"]).is_terminal


def _waiting(last: Mapping[str, Any]) -> str:
    if last["status"] != JobStatus.PENDING:
        return ""
    return f"starting, or waiting for its turn: at most {last['details']['limit']} local jobs run at once"


def _end_attempt(details: Mapping[str, Any]) -> None:
    """Kill the runner's group, if it is still that runner's, and remove its workspace."""
    if "folder" not in details:
        return
    if start_mark(details["pid"]) == details["mark"]:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(details["pid"], signal.SIGKILL)
    with suppress(OSError):
        remove_tree(Path(details["folder"]))


def _open_process(pid: int) -> int | None:
    """Open a descriptor that becomes readable when the process ends; Linux only."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
