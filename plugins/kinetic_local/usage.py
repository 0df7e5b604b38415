"""Using a virtual environment: the supervisor's part, which loads before anything but `os` and `fcntl`."""

import fcntl
import os

from kinetic_local.descriptors import clear_of_streams

READY = "kinetic-environment.json"
"""Of the file that says that an environment is whole; its time is that of the last use."""


def open_lock(folder: str) -> int:
    """Open the lock beside an environment."""
    return clear_of_streams(os.open(f"{folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def hold(folder: str) -> int | None:
    """Keep an environment that is ready from being removed, until this process ends.

    Returns:
        The descriptor that holds the lock; `None` when it has to be made first.
    """
    lock = open_lock(folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    if is_ready(folder) and is_current(f"{folder}.lock", lock):
        os.utime(f"{folder}/{READY}")
        return lock
    os.close(lock)
    return None


def try_alone(lock: int) -> bool:
    """Take the lock exclusively, if nobody else has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_ready(folder: str) -> bool:
    """Tell whether the environment is whole."""
    return os.path.exists(f"{folder}/{READY}")  # noqa: PTH110 - pathlib would double the supervisor's start


def is_current(path: str, lock: int) -> bool:
    """Tell whether the lock is that of the file that lies there now, and not of one that was removed meanwhile."""
    try:
        return os.stat(path).st_ino == os.fstat(lock).st_ino  # noqa: PTH116 - as above
    except FileNotFoundError:
        return False
