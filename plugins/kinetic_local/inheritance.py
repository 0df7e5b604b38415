"""What a process that is started now takes over from this one, or finds where it starts."""

import functools
import os
import resource
import site
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")
_LIMITS: Final = tuple(getattr(resource, name) for name in sorted(dir(resource)) if name.startswith("RLIMIT_"))


def inheritance() -> tuple[object, ...]:
    """Return what decides how a new process starts, besides its environment; for Linux.

    It is only to be compared: two processes that were started under equal ones do not differ.
    """
    return (
        _umask(),
        os.getresuid(),
        os.getresgid(),
        os.getgroups(),
        os.sched_getaffinity(0),
        os.getpriority(os.PRIO_PROCESS, 0),
        [resource.getrlimit(number) for number in _LIMITS],
        start_paths(),
    )


def start_paths() -> tuple[str, ...]:
    """Return what a fresh interpreter has on its path: the folders for packages, and those that `.pth` files add."""
    return tuple(_start_paths())


def _umask() -> str:
    """Read it: the system call would set it too, for all threads."""
    for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("Umask:"):
            return line
    return ""


def _start_paths() -> Iterator[str]:
    for folder in [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]:
        yield folder
        for file in _path_files(folder, _changed_ns(folder)):
            yield from _lines(file, _changed_ns(file))


def _changed_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - asked at each submission, several times
    except FileNotFoundError:
        return 0


@functools.lru_cache(maxsize=16)
def _path_files(folder: str, _changed_ns: int) -> tuple[str, ...]:
    return tuple(map(str, sorted(Path(folder).glob("*.pth"))))


@functools.lru_cache(maxsize=64)
def _lines(file: str, _changed_ns: int) -> tuple[str, ...]:
    return tuple(line.rstrip() for line in Path(file).read_text(errors="replace").splitlines())
