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
    """Open the pod's events file for appending."""
    return os.open(f"{pod}/{EVENTS}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


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
    """Return the events so far, in order; none when there is no such pod."""
    try:
        with open(f"{pod}/{EVENTS}", "rb") as stream:  # noqa: PTH123 - the supervisor loads no pathlib
            lines = stream.read().splitlines(keepends=True)
    except (FileNotFoundError, NotADirectoryError):
        return []
    events: list[dict[str, Any]] = []
    for line in lines:
        with suppress(ValueError):
            events.append(json.loads(line))
    return events


def hosts_of(pod: str) -> int:
    """Return how many hosts the job of the pod has; 1 before it was submitted."""
    return next((int(event["details"].get("hosts", 1)) for event in read_events(pod)[:1]), 1)


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
