"""A file in the making: written beside its place, hashed on the way, moved there when it is whole."""

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from kinetic_core.errors import PackagingError
from kinetic_core.packaging.source import COPIED_BYTES

_FOLLOWED_BYTES: Final = 256 << 10
"""So much at once is read back and hashed on a thread."""


class Mark(NamedTuple):
    """Where an output stood."""

    position: int
    digest: "hashlib._Hash"
    crc: int


class Output:
    """A file beside the target that takes its place at the end; able to take back its tail.

    >>> import zlib
    >>> target = Path(tempfile.mkdtemp(), "file")
    >>> with Output(target, crc32=zlib.crc32) as output:
    ...     output.write(b"abc")
    ...     output.finish()
    >>> target.read_bytes(), output.sha256[:8], output.crc == zlib.crc32(b"abc")
    (b'abc', 'ba7816bf', True)
    """

    def __init__(self, target: Path, *, crc32: Callable[[bytes, int], int], own_thread: bool = False) -> None:
        """Begin.

        Args:
            target: Where the file is to lie; its directory exists.
            crc32: As in `zlib`.
            own_thread: Hash on a thread of its own, which pays for hundreds of megabytes.

        Raises:
            PackagingError: Nothing can be written there. So do all methods that write.
        """
        self.target = target
        self.position = 0
        self.crc = 0
        self.sha256 = ""
        """The 64 hex digits over all that was written, once that is finished."""
        self._crc32 = crc32
        self._finished = False
        try:
            descriptor, name = tempfile.mkstemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent)
        except OSError as error:
            raise self._failed(error) from error
        self._path = Path(name)
        self._file = FileIO(descriptor, "wb")
        self._digest = _following(descriptor) if own_thread else _Digest()

    def __enter__(self) -> Self:
        return self

    def write(self, data: bytes) -> None:
        """Write a piece."""
        self.crc = self._crc32(data, self.crc)
        self.position += len(data)
        try:
            written = self._file.write(data)
            # A disk that fills up takes a part first.
            while written < len(data):
                written += self._file.write(data[written:])
        except OSError as error:
            raise self._failed(error) from error
        self._digest.update(data)

    def copy(self, descriptor: int, start: int, stop: int) -> None:
        """Write a stretch of another file, which holds that much.

        Raises:
            OSError: It cannot be read, or ends early.
        """
        while start < stop:
            data = os.pread(descriptor, min(COPIED_BYTES, stop - start), start)
            if not data:
                raise OSError(0, "it ends early")
            self.write(data)
            start += len(data)

    def mark(self) -> Mark:
        """Remember where the output stands."""
        try:
            return Mark(self.position, self._digest.copy(), self.crc)
        except OSError as error:
            raise self._failed(error) from error

    def take_back(self, mark: Mark) -> None:
        """Forget what was written since the mark."""
        self.position, self.crc = mark.position, mark.crc
        try:
            self._digest.restore(mark.digest, mark.position)
            self._file.seek(self.position)
            self._file.truncate()
        except OSError as error:
            raise self._failed(error) from error

    def finish(self) -> None:
        """Move the file to its place."""
        try:
            self.sha256 = self._digest.copy().hexdigest()
            self._file.close()
            self._path.replace(self.target)
        except OSError as error:
            raise self._failed(error) from error
        self._finished = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._digest.close()
        if self._finished:
            return
        try:
            self._file.close()
        except OSError:
            # A failed close has closed all the same, and what was written goes anyway.
            pass
        finally:
            self._path.unlink()

    def _failed(self, error: OSError) -> PackagingError:
        message = f"the context archive {self.target} cannot be written: {error.strerror}."
        return PackagingError(f"{message} Make room and a writable directory for it (TMPDIR chooses another).")


class _Digest:
    """SHA-256 of what passes."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, data: "bytes | memoryview") -> None:
        self._hash.update(data)

    def copy(self) -> "hashlib._Hash":
        return self._hash.copy()

    def restore(self, digest: "hashlib._Hash", position: int) -> None:  # noqa: ARG002  of use to the other one
        self._hash = digest.copy()

    def close(self) -> None:
        """Release what is held; there is nothing."""


def _following(descriptor: int) -> _Digest:
    try:
        return _FollowingDigest(descriptor)
    except RuntimeError:
        # The process has no room for one more thread, or is about to end.
        return _Digest()


class _FollowingDigest(_Digest):
    """The same on a thread of its own, which reads back what was written: nothing is handed over piece by piece."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._written = self._position = 0
        self._waiting = self._ending = False
        self._failure: OSError | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="kinetic-hash", daemon=True)
        self._thread.start()

    def update(self, data: "bytes | memoryview") -> None:
        with self._changed:
            self._written += len(data)
            if self._written - self._position >= _FOLLOWED_BYTES:
                self._changed.notify_all()

    def copy(self) -> "hashlib._Hash":
        with self._changed:
            self._waiting = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._failure is not None or self._position == self._written)
            self._waiting = False
        if self._failure is not None:
            raise self._failure
        return super().copy()

    def restore(self, digest: "hashlib._Hash", position: int) -> None:
        self.copy()
        super().restore(digest, position)
        self._written = self._position = position

    def close(self) -> None:
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        buffer = memoryview(bytearray(_FOLLOWED_BYTES))
        try:
            while size := self._next():
                self._hash_back(buffer[:size])
        except OSError as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _hash_back(self, buffer: memoryview) -> None:
        read = os.preadv(self._descriptor, [buffer], self._position)
        if not read:
            raise OSError(0, "it ended early")
        super().update(buffer[:read])
        with self._changed:
            self._position += read
            if self._waiting:
                self._changed.notify_all()

    def _next(self) -> int:
        """Wait for something to hash, and return how much of it to take; 0 at the end."""
        with self._changed:
            self._changed.wait_for(self._has_enough)
            return 0 if self._ending else min(_FOLLOWED_BYTES, self._written - self._position)

    def _has_enough(self) -> bool:
        behind = self._written - self._position
        return self._ending or behind >= _FOLLOWED_BYTES or (self._waiting and behind > 0)
