"""The user's files that are uploaded."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from kinetic_core.errors import KineticError, StorageError

AT_ONCE: Final = os.O_NONBLOCK | os.O_NOCTTY
"""Without it, opening a FIFO that took a file's place would wait for whoever writes to it."""


@contextmanager
def source(path: Path) -> Iterator[BinaryIO]:
    """Open a file of the user's for reading.

    Raises:
        StorageError: It cannot be read, or is no file any more.

    >>> with source(Path("/dev/null")):
    ...     pass
    Traceback (most recent call last):
    kinetic_core.errors.StorageError: cannot read the local file /dev/null: it is no regular file
    """
    try:
        # `Path.open` takes no opener.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | AT_ONCE)) as stream:
            expect_file(path, os.fstat(stream.fileno()))
            yield stream
    except KineticError:
        raise
    except OSError as error:
        raise StorageError(f"cannot read the local file {path}: {error.strerror or error}") from error


def expect_file(path: Path, status: os.stat_result) -> None:
    """Refuse what is no file.

    Raises:
        StorageError: It is something else.
    """
    if not stat.S_ISREG(status.st_mode):
        raise StorageError(f"cannot read the local file {path}: it is no regular file")
