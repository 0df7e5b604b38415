"""Small files, read and packed many at a time: pieces of an archive that fit anywhere in it."""

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

from kinetic_core.model.listing import MODE, MTIME_NS, NAME, SIZE, STATUS, Listed
from kinetic_core.packaging.deflate import Codec
from kinetic_core.packaging.smallfiles import COMMON, entry, pack
from kinetic_core.packaging.source import CHUNK_BYTES
from kinetic_core.packaging.zipformat import LIMIT_32, Member, Moments, central_header, plain_central_headers

_BATCH_BYTES: Final = 256 << 10
_BATCH_FILES: Final = 128
_SECOND: Final = 10**9
_ENTRY: Final = Struct(f"{COMMON.size}s")


class Run(NamedTuple):
    """Entries that stand one behind the other."""

    blob: bytes
    common: bytes
    """What the two headers of each entry have in common, one behind the other."""
    starts: list[int]
    """Where each entry begins, from the start of the blob."""
    rows: Sequence[Listed]

    def members(self, position: int) -> Iterator[Member]:
        """Yield the entries, as they are when the blob stands at a position."""
        headers = COMMON.iter_unpack(self.common)
        for row, start, (_, _, method, clock, date, crc, compressed, size, _, _) in zip(
            self.rows, self.starts, headers, strict=True
        ):
            name = row[NAME].encode()
            yield Member(name, row[STATUS][MODE], date, clock, method, crc, compressed, size, position + start)

    def directory(self, position: int) -> list[bytes]:
        """Return the records of the entries in the directory at the end of the archive."""
        if position + len(self.blob) >= LIMIT_32:
            return list(map(central_header, self.members(position)))
        headers = _ENTRY.iter_unpack(self.common)
        return plain_central_headers(
            (row[NAME].encode(), row[STATUS][MODE], common, position + start)
            for row, start, (common,) in zip(self.rows, self.starts, headers, strict=True)
        )

    def offsets(self, position: int) -> list[int]:
        """Return where the entries begin."""
        return [position + start for start in self.starts]


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
        return from_plain(pack(self.base, self.codec.compress, self.codec.crc32, self.moments, rows), rows)

    def member(self, row: Listed, data: bytes, offset: int) -> tuple[Member, bytes]:
        """Return an entry whose content is at hand, and that content as it is stored."""
        name = row[NAME].encode()
        moment = self.moments[row[MTIME_NS] // _SECOND]
        body, common = entry(name, data, moment, self.codec.compress, self.codec.crc32)
        (member,) = Run(body, common, [0], [row]).members(offset)
        return member, body


def from_plain(plain: Iterable[Any], rows: Sequence[Listed]) -> list[Piece]:
    """Return pieces of what `pack` returned, here or in another process.

    Args:
        plain: In the order of the rows.
        rows: What was to be packed.

    Raises:
        ValueError: They are no pieces, or not those of these rows.
    """
    pieces: list[Piece] = []
    position = 0
    for one in plain:
        count = 1
        match one, rows[position : position + 1]:
            case (bytes(blob), bytes(common), [_, *_] as starts), _ if len(common) == len(starts) * COMMON.size:
                count = len(starts)
                pieces.append(Run(blob, common, starts, rows[position : position + count]))
            case (int(number), str(text), str(path)), [row]:
                pieces.append(Unread(row, OSError(number, text, path)))
            case None, [row]:
                pieces.append(Changed(row))
            case _:
                raise ValueError(f"{one!r:.40} is no piece, or one too many")
        position += count
    if position != len(rows):
        raise ValueError(f"{position} files instead of {len(rows)}")
    return pieces
