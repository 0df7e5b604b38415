"""Processes: who descends from whom, and whether a process id still means the same process."""

import os
import signal
from contextlib import suppress

from kinetic_core.wire import names

_PROC = "/proc"


def start_mark(pid: int) -> str:
    """Return a text that differs between two processes that had the same id; empty when there is none.

    >>> start_mark(os.getpid()) == start_mark(os.getpid()) != ""
    True
    """
    if os.path.isdir(f"{_PROC}/self"):  # noqa: PTH112 - pathlib would double the supervisor's start
        fields = _stat_fields(str(pid))
        return fields[19] if fields else ""
    return _ps("-o", "lstart=", "-p", str(pid)).strip()


def is_still(pid: int, mark: str) -> bool:
    """Tell whether a process id that was written down still means the process that had that mark.

    Ids that name no single process (0, 1 and below) and ids without a mark never do.

    >>> is_still(os.getpid(), start_mark(os.getpid())), is_still(0, ""), is_still(-1, "")
    (True, False, False)
    """
    return type(pid) is int and pid > 1 and mark != "" and start_mark(pid) == mark


def parent_of(pid: int) -> int:
    """Return the id of a process's parent; 0 when there is no such process.

    >>> parent_of(os.getpid()) == os.getppid()
    True
    """
    return next((parent for child, parent in _parents() if child == pid), 0)


def descendants(pid: int) -> tuple[int, ...]:
    """Return the ids of all living descendants of a process, whatever group or session they moved to."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents():
        children.setdefault(parent, []).append(child)
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return tuple(found)


def processes_of(job_id: str) -> tuple[int, ...]:
    """Return the ids of other processes that were started with a job's variables, whatever became of their parents.

    Where the platform shows no variables of processes, there are none.
    """
    mark = f"{names.ENV_JOB_ID}={job_id}".encode()
    found = []
    for name in os.listdir(_PROC) if os.path.isdir(f"{_PROC}/self") else ():  # noqa: PTH112, PTH208 - as above
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError), open(f"{_PROC}/{name}/environ", "rb") as stream:  # noqa: PTH123 - as above
                if mark in stream.read().split(b"\0"):
                    found.append(int(name))
    return tuple(found)


def signal_all(group: int | None, pids: tuple[int, ...], number: signal.Signals) -> None:
    """Send a signal to a process group, if one is given, and to processes; those that are gone are no error.

    Raises:
        ValueError: The group or one of the ids would reach the caller's own group, or every process there is.
    """
    addressed = pids if group is None else (group, *pids)
    if group == os.getpgrp() or any(one <= 1 for one in addressed):
        raise ValueError(f"refusing to send {number.name} to group {group} and processes {pids}")
    if group is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _parents() -> list[tuple[int, int]]:
    if not os.path.isdir(f"{_PROC}/self"):  # noqa: PTH112 - as above
        rows = (line.split() for line in _ps("-axo", "pid=,ppid=").splitlines())
        return [(int(row[0]), int(row[1])) for row in rows]
    found = []
    for name in os.listdir(_PROC):  # noqa: PTH208 - as above
        fields = _stat_fields(name) if name.isdigit() else []
        if fields and fields[0] != "Z":
            found.append((int(name), int(fields[1])))
    return found


def _stat_fields(pid: str) -> list[str]:
    """Return the fields after the command's name, which may itself hold spaces and parentheses."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as stream:  # noqa: PTH123 - as above
            return stream.read().rpartition(b") ")[2].decode("ascii").split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _ps(*arguments: str) -> str:
    import subprocess

    return subprocess.run(["ps", *arguments], check=False, capture_output=True, text=True).stdout  # noqa: S607
