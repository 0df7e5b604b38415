"""State: how a job stands, learnt from its pod's folder and from the lock that its supervisor holds."""

import os
import select
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kinetic_core.model.job import BEHIND_OTHERS, JobEvent, JobRef, JobState, JobStatus
from kinetic_local.array import belonged, waits
from kinetic_local.locks import is_locked, try_lock
from kinetic_local.places import Places, remove_private
from kinetic_local.pod import (
    append_event,
    cancel_requested,
    is_known,
    open_events,
    read_events,
    read_lines,
    submission_in,
)
from kinetic_local.processes import is_still, parent_of, processes_of, signal_all

_STARTS: Final = ("job_started", "host_started")
_SWEEPS: Final = 10
_KILLED: Final = "the job's supervisor was killed before the job ended"
_DAMAGED: Final = "the list of what happened to the job is damaged, so how it ended is not known"


class Watch:
    """One job, looked at from a client."""

    def __init__(self, ref: JobRef, places: Places) -> None:
        """Look at the job that the reference points to.

        Args:
            ref: As `submit` returned it, or with no more than the job's URL: a client that died while it
                submitted could save no more.
            places: Of this user.
        """
        self.pod = str(places.pod(ref.job_id, ref.details.get("job_url", "")))
        self._job_id = ref.job_id
        self.machine = ref.details.get("machine", "")
        self._live = str(places.live_file(ref.job_id))
        self.damaged = 0
        """How many events could not be read at the last look."""

    @property
    def is_here(self) -> bool:
        """Tell whether the job was submitted on this machine, by this user: then its processes are ours to end."""
        with suppress(OSError):
            return self.machine in ("", os.uname().nodename) and Path(self.pod).stat().st_uid == os.getuid()
        return False

    def live_file(self) -> str:
        """Return the file that the supervisor keeps locked; the pod knows best, for homes may differ."""
        return self._live_file(read_events(self.pod))

    def is_alive(self) -> bool:
        """Tell whether the job's supervisor lives."""
        return is_locked(self.live_file())

    def events(self) -> Sequence[Mapping[str, Any]]:
        """Return what happened so far; when the supervisor died without a last word, say so in its place."""
        events = self._read()
        is_over = _ended(events) or not (events or is_known(self.pod))
        if is_over or not self.is_here or is_locked(self._live_file(events)):
            return events
        self._settle(self._live_file(events))
        return self._read()

    def state(self) -> JobState:
        """Return how the job stands."""
        return self.state_after(self.events())

    def state_after(self, events: Sequence[Mapping[str, Any]]) -> JobState:
        """Return how the job stands after what happened so far, as `events` just told it."""
        if events:
            return _state(events[-1])
        if self.is_alive():
            return JobState(status=JobStatus.PENDING, reason="starting")
        if self.damaged:
            return JobState(status=JobStatus.FAILED, reason=_DAMAGED)
        if self.is_here and waits(self.pod):
            return JobState(status=JobStatus.PENDING, reason=BEHIND_OTHERS)
        if belonged(self.pod):
            return JobState(status=JobStatus.NOT_FOUND, reason="the process that was to start it is no more")
        where = f"; it was submitted on {self.machine}" if self.machine not in ("", os.uname().nodename) else ""
        return JobState(status=JobStatus.NOT_FOUND, reason=f"there is no such job in {self.pod}{where}")

    @property
    def is_unknown(self) -> bool:
        """Tell whether nobody has submitted the job yet, or what was to start it is no more."""
        return self.state().status is JobStatus.NOT_FOUND

    def signal_supervisor(self, number: signal.Signals) -> bool:
        """Send the supervisor a signal; tell whether there was one, never another process that has its id now."""
        pid = self._supervisor(read_events(self.pod))
        if pid and self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
                return True
        return False

    def _supervisor(self, events: Sequence[Mapping[str, Any]]) -> int:
        """Return the id of the supervisor; where the line that tells it is damaged, by a runner of its; else 0."""
        if submitted := submission_in(events):
            return int(submitted["pid"]) if is_still(submitted["pid"], submitted["mark"]) else 0
        runners = (event["details"] for event in events if event["kind"] in _STARTS)
        parents = (parent_of(one["pid"]) for one in runners if is_still(one["pid"], one["mark"]))
        return next((pid for pid in parents if pid > 1), 0)

    def wait(self, timeout_s: float, endings: socket.socket | None = None) -> None:
        """Wait until the supervisor ends, without polling where the platform can, or the time is up.

        Args:
            timeout_s: How long.
            endings: What it says into that a job has ended also ends the wait.
        """
        pid = submission_in(read_events(self.pod)).get("pid")
        descriptor = _open_process(pid) if pid is not None and self.is_here else None
        if descriptor is None:
            time.sleep(timeout_s)
            return
        try:
            # Alive after its descriptor was opened: the descriptor means this process, not a later one.
            if self.is_alive():
                poller = select.poll()
                poller.register(descriptor, select.POLLIN)
                if endings is not None:
                    with suppress(ValueError):  # another thread has closed it
                        poller.register(endings, select.POLLIN)
                poller.poll(timeout_s * 1000)
                with suppress(OSError):
                    while endings is not None and endings.recv(1):
                        pass
        finally:
            os.close(descriptor)

    def _read(self) -> Sequence[Mapping[str, Any]]:
        events, self.damaged = read_lines(self.pod)
        return events

    def _live_file(self, events: Sequence[Mapping[str, Any]]) -> str:
        return str(submission_in(events).get("live", self._live)) if self.is_here else self._live

    def _settle(self, live: str) -> None:
        """End what a killed supervisor left, and write the last event for it; once, whoever comes first."""
        lock = try_lock(live) if Path(live).parent.is_dir() else None
        if lock is None:
            return
        try:
            events = self._read()
            if _ended(events) or not is_known(self.pod):
                return
            _end_attempts(events, self._job_id)
            cancelled = cancel_requested(self.pod)
            descriptor = open_events(self.pod)
            lost = _DAMAGED if self.damaged else _KILLED
            status, reason = ("CANCELLED", "cancelled") if cancelled else ("FAILED", lost)
            append_event(descriptor, "job_ended", status, reason)
            os.close(descriptor)
        finally:
            # Also when there was nothing to do: the file may be one that the attempt to lock it made.
            Path(live).unlink(missing_ok=True)
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


def _state(last: Mapping[str, Any]) -> JobState:
    reason, details = last["reason"], last["details"]
    if last["status"] == JobStatus.PENDING and not reason:
        limit = details.get("limit", "so many")
        reason = f"starting, or waiting for its turn: at most {limit} local jobs run at once"
    return JobState(
        status=last["status"],
        reason=reason,
        exit_code=details.get("exit_code"),
        failed_host=details.get("failed_host"),
        also_failed=tuple(map(int, filter(None, (details.get("also_failed") or "").split(",")))),
    )


def _ended(events: Sequence[Mapping[str, Any]]) -> bool:
    return bool(events) and JobStatus(events[-1]["status"]).is_terminal


def _end_attempts(events: Sequence[Mapping[str, Any]], job_id: str) -> None:
    """Kill the runners' groups, where they are still those runners', and remove what the supervisor cannot any more."""
    for details in (event["details"] for event in events if event["kind"] in _STARTS):
        # A job that looks at itself is in that group: it ends by itself.
        if is_still(details["pid"], details["mark"]) and details["pid"] != os.getpgrp():
            signal_all(details["pid"], (), signal.SIGKILL)
    # What left the groups; each time there may be some more, which these have just started.
    for _ in range(_SWEEPS):
        left = processes_of(job_id)
        if not left:
            break
        signal_all(None, left, signal.SIGKILL)
    submitted = submission_in(events)
    if submitted:
        Path(submitted["ticket"]).unlink(missing_ok=True)
        remove_private(submitted["folder"])


def _open_process(pid: int) -> int | None:
    """Open a descriptor that becomes readable when the process ends; Linux only."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
