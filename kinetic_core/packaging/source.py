"""One reading of one file, which may change meanwhile."""

import os
import stat
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

from kinetic_core.packaging.smallfiles import FLAGS

CHUNK_BYTES: Final = 1 << 20
COPIED_BYTES: Final = 64 << 10
"""For what is only passed on: it stays in the processor's cache, which makes it several times faster."""


class Source:
    """A regular file, opened for one reading of at most the size it had when opened.

    >>> with Source(__file__) as source:
    ...     data = b"".join(source.chunks())
    >>> len(data) == source.status.st_size
    True
    """

    def __init__(self, path: str) -> None:
        """Open the file.

        Args:
            path: Where it lies; links are followed.

        Raises:
            OSError: It cannot be opened, or is no regular file any more.
        """
        self._descriptor = os.open(path, FLAGS)
        self.status = os.fstat(self._descriptor)
        self._read_bytes = 0
        if not stat.S_ISREG(self.status.st_mode):
            os.close(self._descriptor)
            raise OSError(0, "it is no regular file any more")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in pieces of 1 MiB; the last one may be shorter.

        Raises:
            OSError: Reading failed.
        """
        while self._read_bytes < self.status.st_size:
            data = self._piece(min(CHUNK_BYTES, self.status.st_size - self._read_bytes))
            if not data:
                return
            self._read_bytes += len(data)
            yield data

    def _piece(self, size: int) -> bytes:
        data = os.read(self._descriptor, size)
        # Some file systems give less than there is; where pieces are cut must not depend on it.
        while len(data) < size and (more := os.read(self._descriptor, size - len(data))):
            data += more
        return data

    def is_unchanged(self) -> bool:
        """Tell whether all was read, and nothing was written since the file was opened."""
        now = os.fstat(self._descriptor)
        return self._read_bytes == self.status.st_size and is_same(now, self.status)


def is_same(one: os.stat_result, other: os.stat_result) -> bool:
    """Tell whether a file was not written to between two looks at it.

    >>> is_same(os.stat("/"), os.stat("/"))
    True
    """
    return one.st_size == other.st_size and one.st_mtime_ns == other.st_mtime_ns
