"""Part files: everything is written under a private name beside its place, and moved there when it is whole."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from kinetic_core.errors import KineticError, StorageError
from kinetic_core.wire.names import PART_PREFIX
from kinetic_fsspec.folders import give_to_readers, make_folder
from kinetic_fsspec.tally import Tally

_MKDIR_TRIES: Final = 20


def write_part(target: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write a new part file, of mode 0600, in the target's folder; on failure nothing of it is left."""
    part = target.parent / f"{PART_PREFIX}{os.urandom(12).hex()}"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            write(stream)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part


def write_part_in_store(target: Path, root: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Do the same below `root`, and make the folder when it is absent or a concurrent deletion takes it away."""

    def write_shared(stream: BinaryIO) -> None:
        give_to_readers(stream.fileno(), target, root)
        write(stream)

    for _ in range(_MKDIR_TRIES):
        with suppress(FileNotFoundError):
            return write_part(target, write_shared)
        make_folder(target.parent, root)
    return write_part(target, write_shared)


def move_part(part: Path, target: Path) -> None:
    """Give the part its final name, replacing what is there; on failure nothing of it is left."""
    try:
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_local(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file of the user's whole or not at all.

    Raises:
        StorageError: It cannot be written.
    """
    try:
        move_part(write_part(path, write), path)
    except KineticError:
        raise
    except OSError as error:
        raise StorageError(f"cannot write the local file {path}: {error.strerror or error}") from error


class LocalSink:
    """A file of the user's that a download goes to: what it refuses is not the store's fault."""

    def __init__(self, stream: BinaryIO, path: Path, tally: Tally) -> None:
        """Take note of the open part file, of the path that it will have, and of who is told of what comes."""
        self._stream = stream
        self._path = path
        self._tally = tally

    def write(self, data: bytes, /) -> None:
        """Take all of the data.

        Raises:
            StorageError: The disk is full, or broken.
        """
        try:
            self._stream.write(data)
        except OSError as error:
            raise StorageError(f"cannot write the local file {self._path}: {error.strerror or error}") from error
        self._tally.add(len(data))

    def seek(self, offset: int, /) -> None:
        """Go to a place."""
        self._stream.seek(offset)

    def truncate(self) -> None:
        """Forget what lies behind it."""
        self._stream.truncate()
        self._tally.start_over()
