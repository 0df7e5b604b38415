"""Small files, read and packed many at a time: pieces of an archive that fit anywhere in it."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kinetic_core.model.listing import CTIME_NS, MODE, MTIME_NS, NAME, SIZE, STATUS, Listed, path_of
from kinetic_core.packaging.deflate import Codec
from kinetic_core.packaging.source import CHUNK_BYTES, FLAGS
from kinetic_core.packaging.zipformat import DEFLATED, STORED, Member, Moments, local_header

_BATCH_BYTES: Final = 256 << 10
_BATCH_FILES: Final = 128
_SECOND: Final = 10**9


class Run(NamedTuple):
    """Entries that stand one behind the other."""

    blob: bytes
    members: list[Member]
    """Their offsets count from the start of the blob."""
    rows: list[Listed]


class Unread(NamedTuple):
    """A file that could not be read."""

    row: Listed
    error: OSError


class Changed(NamedTuple):
    """A file that is no longer as listed, or changed while it was read: to be read once more."""

    row: Listed


Piece = Run | Unread | Changed


def is_long(row: Listed) -> bool:
    """Tell whether a file is streamed rather than held whole.

    >>> is_long(("a", (0o100644, 1, 1, 1, 0, 0, 12), 0, 0))
    False
    """
    return row[STATUS][SIZE] >= CHUNK_BYTES and not row[NAME].endswith("/")


def batches(rows: Iterable[Listed]) -> Iterator[list[Listed]]:
    """Cut a listing of small files into batches that are worth a turn.

    >>> [len(batch) for batch in batches([("a", (0o100644, 1, 1, 1, 0, 0, 12), 0, 0)] * 300)]
    [128, 128, 44]
    """
    batch: list[Listed] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += row[STATUS][SIZE]
        if size >= _BATCH_BYTES or len(batch) == _BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class Packer(NamedTuple):
    """Packs small files; may be used by many threads at once."""

    base: str
    """What to put before a name to have its path."""
    codec: Codec
    moments: Moments

    def pack(self, rows: Sequence[Listed]) -> list[Piece]:
        """Read and pack small files and empty directories.

        Each file is looked at once more when it has been read: only what is as listed goes into a run.
        """
        pieces: list[Piece] = []
        parts: list[bytes] = []
        run = Run(b"", [], [])
        position = 0
        for row in rows:
            outcome = self._content(row)
            if isinstance(outcome, bytes):
                member, body = self.member(row, outcome, position)
                header = local_header(member)
                parts += (header, body)
                position += len(header) + len(body)
                run.members.append(member)
                run.rows.append(row)
                continue
            if parts:
                pieces.append(run._replace(blob=b"".join(parts)))
                parts, run, position = [], Run(b"", [], []), 0
            pieces.append(outcome)
        if parts:
            pieces.append(run._replace(blob=b"".join(parts)))
        return pieces

    def member(self, row: Listed, data: bytes, offset: int) -> tuple[Member, bytes]:
        """Return an entry whose content is at hand, and that content as it is stored."""
        status = row[STATUS]
        date, clock = self.moments[row[MTIME_NS] // _SECOND]
        body = self.codec.deflated(data)
        method = DEFLATED
        if body is None:
            method, body = STORED, data
        crc = self.codec.crc32(data, 0)
        name = row[NAME].encode()
        return Member(name, status[MODE], date, clock, method, crc, len(body), len(data), offset), body

    def _content(self, row: Listed) -> "bytes | Unread | Changed":
        if row[NAME].endswith("/"):
            return b""
        try:
            descriptor = os.open(path_of(self.base, row[NAME]), FLAGS)
            try:
                data = os.read(descriptor, row[STATUS][SIZE] + 1)
                now = os.fstat(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            return Unread(row, error)
        is_as_listed = (
            len(data) == row[STATUS][SIZE]
            and now[:7] == row[STATUS]
            and now.st_mtime_ns == row[MTIME_NS]
            and now.st_ctime_ns == row[CTIME_NS]
        )
        return data if is_as_listed else Changed(row)
