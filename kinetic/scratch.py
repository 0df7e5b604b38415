"""Private directories of a client for a while, and those that a killed client left behind."""

import fcntl
import functools
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from kinetic_core.wire.removal import remove_tree

_PREFIX: Final = "kinetic-client-"
_HOUR_S: Final = 3_600.0


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a private directory, and remove it at the end; those of clients that are no more go too.

    The kernel lets go of a lock on it when this process ends, however it ends: by that the next client knows.

    >>> with scratch() as directory:
    ...     directory.is_dir()
    True
    """
    parent = tempfile.gettempdir()
    _sweep_once(parent)
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    try:
        held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(held, fcntl.LOCK_SH)
            yield directory
        finally:
            os.close(held)
    finally:
        remove_tree(directory)


def sweep(parent: Path, *, before_s: float) -> int:
    """Remove this user's directories whose client is no more.

    Args:
        parent: Where they lie.
        before_s: Younger ones stay, seconds since the epoch: one may be made just now, and not locked yet.

    Returns:
        How many were removed.
    """
    with os.scandir(parent) as found:
        names = [entry.name for entry in found if entry.name.startswith(_PREFIX)]
    return sum(_remove_dead(parent / name, before_s) for name in names)


@functools.cache
def _sweep_once(parent: str) -> None:
    # Another's directory, or one that somebody else sweeps just now, is no reason to stop.
    with suppress(OSError):
        sweep(Path(parent), before_s=time.time() - _HOUR_S)


def _remove_dead(path: Path, before_s: float) -> bool:
    with suppress(OSError):
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            status = os.fstat(opened)
            if status.st_uid != os.getuid() or status.st_mtime >= before_s:
                return False
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(path)
        finally:
            os.close(opened)
        return True
    return False
