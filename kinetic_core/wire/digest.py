"""SHA-256 over files and streams, in hexadecimal."""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO, Final

CHUNK_BYTES: Final = 1 << 20
_SMALL_BYTES: Final = 1 << 16


def sha256_of_file(path: Path) -> str:
    """Return the 64 hex digits of the SHA-256 of the file's bytes, read in chunks."""
    with path.open("rb", buffering=0) as stream:
        if os.fstat(stream.fileno()).st_size < _SMALL_BYTES:
            return hashlib.sha256(stream.read()).hexdigest()
        return hashlib.file_digest(stream, "sha256").hexdigest()


class HashingWriter:
    """Hash and count what passes through on its way to a binary stream.

    >>> import io
    >>> sink = HashingWriter(io.BytesIO())
    >>> sink.write(b"abc")
    3
    >>> sink.size_bytes, sink.hexdigest()[:8]
    (3, 'ba7816bf')
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Wrap a writable binary stream; the caller closes it."""
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write all of the data, and return its length in bytes."""
        view = memoryview(data).cast("B")
        self._hash.update(view)
        self._stream.write(view)
        self.size_bytes += view.nbytes
        return view.nbytes

    def hexdigest(self) -> str:
        """Return the 64 hex digits over all that was written so far."""
        return self._hash.hexdigest()
