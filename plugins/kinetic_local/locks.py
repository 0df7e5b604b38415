"""Advisory locks on files: the kernel releases them when their holder dies, however it dies."""

import fcntl
import os

from kinetic_local.descriptors import clear_of_streams


def try_lock(path: str) -> int | None:
    """Lock the file, made when absent, for this process; return the open descriptor, `None` when another holds it."""
    descriptor = clear_of_streams(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_locked(path: str) -> bool:
    """Tell whether a living process holds the lock; an absent file is not locked."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
