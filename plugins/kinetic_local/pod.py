"""A pod's folder: its log and the list of what happened to it, which is all the state a local job has."""

import json
import os
import time
from contextlib import suppress
from typing import Any

from kinetic_local.descriptors import clear_of_streams

LOG = "log"
"""Of host 0; the others have their number behind it: `log-1`."""
EVENTS = "events.jsonl"
CANCEL = "cancel"
QUEUED = "queued"
_STATUSES = frozenset(("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"))

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def append_event(descriptor: int, kind: str, status: str, reason: str = "", **details: str | float | None) -> None:
    """Append one event in one write: a reader sees all of it or nothing.

    Args:
        descriptor: Of the pod's events file, opened for appending.
        kind: As in `JobEvent`.
        status: The job's status from now on.
        reason: Why, in a few words for a person.
        details: Flat facts.
    """
    record = {"kind": kind, "at_s": time.time(), "status": status, "reason": reason, "details": details}
    os.write(descriptor, json.dumps(record).encode() + b"\n")


def open_events(pod: str) -> int:
    """Open the pod's events file for appending; a line that is cut off there does not take the next one with it."""
    descriptor = os.open(f"{pod}/{EVENTS}", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    size_bytes = os.fstat(descriptor).st_size
    if size_bytes and os.pread(descriptor, 1, size_bytes - 1) != b"\n":
        os.write(descriptor, b"\n")
    return descriptor


def open_log(pod: str) -> int:
    """Open the pod's log for appending: all who write to it add at its end."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    return clear_of_streams(os.open(f"{pod}/{LOG}", flags, 0o600))


def host_log(pod: str, host: int) -> str:
    """Return the path of a host's log.

    >>> host_log("pod", 0), host_log("pod", 2)
    ('pod/log', 'pod/log-2')
    """
    return f"{pod}/{LOG}-{host}" if host else f"{pod}/{LOG}"


def read_events(pod: str) -> list[dict[str, Any]]:
    """Return the events so far, in order, damaged ones left out; none when there is no such pod."""
    return read_lines(pod)[0]


def read_lines(pod: str) -> tuple[list[dict[str, Any]], int]:
    """Return the events so far, in order, and how many lines are damaged."""
    try:
        with open(f"{pod}/{EVENTS}", "rb") as stream:  # noqa: PTH123 - the supervisor loads no pathlib
            lines = stream.read().splitlines(keepends=True)
    except (FileNotFoundError, NotADirectoryError):
        return [], 0
    events = [event for event in map(_event, lines) if event is not None]
    # What has no end yet may just be being written.
    whole = len(lines) - (bool(lines) and not lines[-1].endswith(b"\n") and _event(lines[-1]) is None)
    return events, whole - len(events)


def _event(line: bytes) -> dict[str, Any] | None:
    """Read a line; `None` when it is damaged."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    is_whole = (
        isinstance(event, dict)
        and event.get("status") in _STATUSES
        and isinstance(event.get("kind"), str)
        and isinstance(event.get("at_s"), float | int)
        and isinstance(event.get("reason"), str)
        and isinstance(event.get("details"), dict)
    )
    return event if is_whole else None


def is_known(pod: str) -> bool:
    """Tell whether the job of the pod was submitted, also where nothing can be read of what happened to it."""
    try:
        return os.stat(f"{pod}/{EVENTS}").st_size > 0  # noqa: PTH116 - as above
    except (FileNotFoundError, NotADirectoryError):
        return False


def submission_in(events: "Sequence[Mapping[str, Any]]") -> "Mapping[str, Any]":
    """Return the facts of the first event, which tells of the submission; none where that line is damaged."""
    details: Mapping[str, Any] = events[0]["details"] if events else {}
    return details if "live" in details else {}


def hosts_of(pod: str) -> int:
    """Return how many hosts the job of the pod has, as far as it is known; 1 before it was submitted."""
    events = read_events(pod)
    started = [int(event["details"].get("host", 0)) + 1 for event in events if event["kind"] == "host_started"]
    return max(1, int(submission_in(events).get("hosts", 1)), *started)


def forget_events(pod: str) -> None:
    """Remove the events of processes that could not be given the job."""
    with suppress(FileNotFoundError):
        os.unlink(f"{pod}/{EVENTS}")  # noqa: PTH108 - as above


def request_cancel(pod: str) -> None:
    """Note that the job is to be cancelled; the supervisor reads it when it is told to stop."""
    with suppress(FileNotFoundError):
        os.close(os.open(f"{pod}/{CANCEL}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def remove_pod(pod: str) -> None:
    """Remove the pod's folder: what a job writes there by name, and nothing else, whatever the path names."""
    hosts = hosts_of(pod)
    logs = [os.path.basename(host_log(pod, host)) for host in range(1, hosts)]  # noqa: PTH119 - as above
    for name in (LOG, *logs, EVENTS, CANCEL, QUEUED):
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(f"{pod}/{name}")  # noqa: PTH108 - as above
    with suppress(OSError):
        os.rmdir(pod)  # noqa: PTH106 - as above


def cancel_requested(pod: str) -> bool:
    """Tell whether somebody asked for the job's end."""
    return os.path.exists(f"{pod}/{CANCEL}")  # noqa: PTH110 - as above
