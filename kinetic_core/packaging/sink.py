"""The file that a payload is written into: hashed when it is known to be of use, or behind the writing when long."""

import hashlib
import os
import threading
from io import FileIO
from types import TracebackType
from typing import Final, Self

_HELD_BYTES: Final = 256 << 20
"""So much of a file the system's memory holds anyway, so that hashing it can wait for the end of the writing."""
_CHUNK_BYTES: Final = 1 << 20


class WriteError(Exception):
    """Writing failed, not an object; the cause is the operating system's error."""


class HashedFile:
    """A file in the making and the SHA-256 of what is in it, read back from the system's memory of the file.

    Nothing is kept for it, and whoever fails early does not wait for it. A long file is hashed by a thread that
    follows the writing; any other at the end.

    >>> import tempfile
    >>> descriptor, name = tempfile.mkstemp()
    >>> with HashedFile(descriptor) as sink:
    ...     sink.write(b"abc")
    ...     sink.size_bytes, sink.hexdigest()[:8]
    3
    (3, 'ba7816bf')
    """

    def __init__(self, descriptor: int) -> None:
        """Write into a file that is empty and open for reading too.

        Args:
            descriptor: Closed at the end.
        """
        self.size_bytes = 0
        self._file = FileIO(descriptor, "wb")
        self._hashing = _Hashing(descriptor)

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write all of the data, and return its length in bytes.

        Raises:
            WriteError: It cannot be written.
        """
        view = memoryview(data).cast("B")
        try:
            written = self._file.write(view)
            # One call takes no more than 2 GiB, and a disk that fills up takes a part first.
            while written < view.nbytes:
                written += self._file.write(view[written:])
        except OSError as error:
            raise WriteError from error
        self.size_bytes += view.nbytes
        self._hashing.follow(self.size_bytes)
        return view.nbytes

    def hexdigest(self) -> str:
        """Return the 64 hex digits over all that was written.

        Raises:
            WriteError: What was written cannot be read back.
        """
        try:
            return self._hashing.finish(self.size_bytes)
        except OSError as error:
            raise WriteError from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hashing.stop()
        try:
            self._file.close()
        except OSError as failure:
            raise WriteError from failure


class _Hashing:
    """Hashes a file from its beginning; on a thread, once it is long."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._digest = hashlib.sha256()
        self._position = self._written = 0
        self._ending = False
        self._failure: OSError | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def follow(self, written: int) -> None:
        """Know that so much is written."""
        if self._thread is None:
            if written < _HELD_BYTES:
                return
            thread = threading.Thread(target=self._run, name="kinetic-hash", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # The process has no room for one more, or is about to end: it is hashed at the end.
                return
            self._thread = thread
        with self._changed:
            self._written = written
            if written - self._position >= _CHUNK_BYTES:
                self._changed.notify()

    def finish(self, written: int) -> str:
        """Hash to the end, and return the hex digits."""
        self._end(written)
        if self._thread is None:
            self._run()
        else:
            self._thread.join()
        if self._failure is not None:
            raise self._failure
        return self._digest.hexdigest()

    def stop(self) -> None:
        """Leave off where it is."""
        self._end(0)
        if self._thread is not None:
            self._thread.join()

    def _end(self, written: int) -> None:
        with self._changed:
            self._written, self._ending = written, True
            self._changed.notify()

    def _run(self) -> None:
        buffer = memoryview(b"")
        try:
            while size := self._next():
                if size > len(buffer):
                    # Of a short file all comes at once: emptying more memory than that would take longer than hashing.
                    buffer = memoryview(bytearray(size))
                self._hash(buffer[:size])
        except OSError as error:
            self._failure = error

    def _hash(self, buffer: memoryview) -> None:
        read = os.preadv(self._descriptor, [buffer], self._position)
        if not read:
            raise OSError(0, "it ended early")
        self._digest.update(buffer[:read])
        self._position += read

    def _next(self) -> int:
        """Wait for something to hash, and return how much of it to take; 0 at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ending or self._written - self._position >= _CHUNK_BYTES)
            return max(0, min(_CHUNK_BYTES, self._written - self._position))
