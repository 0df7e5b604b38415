"""Entries one after the other into an archive: packed now, or copied from an earlier one."""

from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple, assert_never

import attrs

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.blocks import Listing
from kinetic_core.model.listing import MODE, MTIME_NS, NAME, SIZE, STATUS, Listed, listed, path_of
from kinetic_core.model.package import SkippedEntry
from kinetic_core.model.trust import distrust
from kinetic_core.packaging.composition import Copied
from kinetic_core.packaging.deflate import END_OF_BLOCKS, Codec
from kinetic_core.packaging.output import Output
from kinetic_core.packaging.packing import Changed, Packer, Piece, Run, Unread, batches, is_long
from kinetic_core.packaging.printable import printable
from kinetic_core.packaging.secondpacker import SecondPacker
from kinetic_core.packaging.skips import skip
from kinetic_core.packaging.snapshot import EarlierArchive, Places
from kinetic_core.packaging.source import CHUNK_BYTES, Source
from kinetic_core.packaging.workers import Workers
from kinetic_core.packaging.zipformat import (
    DEFLATED,
    LIMIT_32,
    STORED,
    Member,
    central_header,
    descriptor,
    end_of_archive,
    local_header,
    member_of,
    moved_headers,
    needs_wide_sizes,
)

_SECOND = 10**9


@attrs.define(kw_only=True, eq=False, repr=False)
class Writer:
    """Writes the entries of one archive, in order."""

    output: Output
    workers: Workers
    packer: Packer
    packers: SecondPacker
    """That packer, and perhaps another process beside it."""
    places: Places = attrs.field(factory=Places.empty, init=False)
    """Where each row that was written lies."""
    directory: int = attrs.field(default=0, init=False)
    """Where the archive's own directory begins, once it is closed."""
    copied: list[Copied] = attrs.field(factory=list, init=False)
    """Which of the rows come from the earlier archive, as they stood there."""
    skipped: list[SkippedEntry] = attrs.field(factory=list, init=False)
    findings: list[Finding] = attrs.field(factory=list, init=False)
    _listings: list[Listing] = attrs.field(factory=list, init=False)
    _fresh: list[Listed] = attrs.field(factory=list, init=False)
    """Rows behind those listings."""
    _central: list[bytes] = attrs.field(factory=list, init=False)
    _central_bytes: int = attrs.field(default=0, init=False)

    @property
    def listing(self) -> Listing:
        """Return what was written, as it was read; distrusted where that is not as listed."""
        if not self._listings:
            return Listing(self._fresh)
        self._end_listing()
        return Listing.of_blocks(block for listing in self._listings for block in listing.blocks)

    def add(self, rows: Iterable[Listed]) -> None:
        """Read and write files and empty directories.

        Args:
            rows: Sorted by name, behind all that was written.
        """
        for long, group in groupby(rows, key=is_long):
            if long:
                for row in group:
                    self._add_by_reading(row, readings=2)
            else:
                for pieces in self.packers.packed(batches(group)):
                    self._add_pieces(pieces)

    def copy(self, archive: EarlierArchive, start: int, stop: int) -> None:
        """Write consecutive entries of an earlier archive as they stand there.

        Raises:
            OSError: The earlier archive cannot be read.
        """
        begin, end = archive.bounds(start, stop)
        self.copied.append(Copied(len(self.places.offsets), stop - start, start))
        shift = self.output.position - begin
        self.output.copy(archive.descriptor, begin, end)
        headers, starts = archive.headers(start, stop), archive.places.headers[start : stop + 1]
        offsets = _moved(archive.places.offsets[start:stop], shift)
        if max(end, end + shift) < LIMIT_32:
            starts = _moved(starts, -starts[0])[:-1]
            self.places.offsets.extend(offsets)
            self.places.headers.extend(_moved(starts, self._central_bytes))
            self._add_headers(moved_headers(headers, starts, offsets) if shift else headers)
        else:
            for offset, (at, until) in zip(offsets, pairwise(starts), strict=True):
                header = headers[at - starts[0] : until - starts[0]]
                self._record(member_of(header)._replace(offset=offset))
        self._end_listing()
        self._listings.append(archive.listing.part(start, stop))

    def close(self, row: Listed, data: bytes) -> None:
        """Write the last entry, whose content is at hand, and what closes an archive."""
        self.places.offsets.append(self.output.position)
        self.places.headers.append(self._central_bytes)
        member, body = self.packer.member(row, data, self.output.position)
        self.output.write(local_header(member) + body)
        self._add_headers(central_header(member))
        self.directory = self.output.position
        end = end_of_archive(entries=len(self.places.offsets), offset=self.directory, size_bytes=self._central_bytes)
        self.output.write(b"".join((*self._central, end)))

    def _add_pieces(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            match piece:
                case Run():
                    position = self.output.position
                    self.output.write(piece.blob)
                    headers = piece.directory(position)
                    self.places.offsets.extend(piece.offsets(position))
                    self.places.headers.extend(accumulate(map(len, headers[:-1]), initial=self._central_bytes))
                    self._central += headers
                    self._central_bytes += sum(map(len, headers))
                    self._fresh += piece.rows
                case Unread():
                    self._skip(piece.row[NAME], piece.error)
                case Changed():
                    self._add_by_reading(piece.row, readings=1)
                case _:
                    assert_never(piece)

    def _add_by_reading(self, row: Listed, *, readings: int) -> None:
        """Write a file in pieces; one that changes meanwhile is read again, if there are readings left."""
        mark = self.output.mark()
        try:
            reading = self._read(row)
            if reading.is_torn and readings > 1:
                self.output.take_back(mark)
                reading = self._read(row)._replace(is_torn=True)
        except OSError as error:
            self.output.take_back(mark)
            self._skip(row[NAME], error)
            return
        self._record(reading.member)
        self._fresh.append(reading.row)
        if reading.is_torn or not reading.is_as_listed:
            self._warn_changed(row[NAME])

    def _read(self, row: Listed) -> "_Reading":
        with Source(path_of(self.packer.base, row[NAME])) as source:
            now = listed(row[NAME], source.status)
            if source.status.st_size < CHUNK_BYTES:
                member, body = self.packer.member(now, b"".join(source.chunks()), self.output.position)
                self.output.write(local_header(member) + body)
            else:
                member = self._stream(now, source.chunks())
            is_torn = not source.is_unchanged()
        read = now if now == row and not is_torn else _as_read(now, member.size_bytes)
        return _Reading(member, read, is_torn, _is_same(now, row))

    def _stream(self, row: Listed, chunks: Iterator[bytes]) -> Member:
        """Write an entry block by block; never hold a file whole."""
        content = _Content(self.packer.codec, chunks)
        date, clock = self.packer.moments[row[MTIME_NS] // _SECOND]
        size = row[STATUS][SIZE]
        member = Member(row[NAME].encode(), row[STATUS][MODE], date, clock, offset=self.output.position)
        member = member._replace(
            method=DEFLATED if content.is_compressible else STORED, sizes_follow=True, wide=needs_wide_sizes(size)
        )
        self.output.write(local_header(member))
        start = self.output.position
        if content.is_compressible:
            for block in self.workers.ordered(self.packer.codec.compress_block, content):
                self.output.write(block)
            self.output.write(END_OF_BLOCKS)
        else:
            for block in content:
                self.output.write(block)
        member = member._replace(
            crc=content.crc, compressed_bytes=self.output.position - start, size_bytes=content.size_bytes
        )
        self.output.write(descriptor(member))
        return member

    def _record(self, member: Member) -> None:
        self.places.offsets.append(member.offset)
        self.places.headers.append(self._central_bytes)
        self._add_headers(central_header(member))

    def _add_headers(self, headers: bytes) -> None:
        self._central.append(headers)
        self._central_bytes += len(headers)

    def _end_listing(self) -> None:
        if self._fresh:
            self._listings.append(Listing(self._fresh))
            self._fresh = []

    def _skip(self, name: str, error: OSError) -> None:
        code = "vanished" if isinstance(error, FileNotFoundError) else "unreadable"
        skipped, finding = skip(name, code, f"it cannot be read: {error.strerror or error}")
        self.skipped.append(skipped)
        self.findings.append(finding)

    def _warn_changed(self, name: str) -> None:
        finding = Finding(
            code="file_changed",
            severity=Severity.WARNING,
            message=f"'{printable(name)}' changed while it was packaged; it ships as last read",
            remedy="Exclude files that are being written, such as logs, in .kineticignore.",
        )
        self.findings.append(finding)


class _Reading(NamedTuple):
    member: Member
    row: Listed
    is_torn: bool
    """Whether the file changed between its opening and the end of reading."""
    is_as_listed: bool


class _Content:
    """The pieces of a long file, counted on their way."""

    def __init__(self, codec: Codec, chunks: Iterator[bytes]) -> None:
        self.crc = self.size_bytes = 0
        self._codec = codec
        self._chunks = chunks
        self._first = next(chunks, b"")
        self.is_compressible = codec.is_compressible(self._first)

    def __iter__(self) -> Iterator[bytes]:
        chunk, self._first = self._first, b""
        while chunk:
            self.crc = self._codec.crc32(chunk, self.crc)
            self.size_bytes += len(chunk)
            yield chunk
            chunk = next(self._chunks, b"")


def _moved(places: "array[int]", shift: int) -> "array[int]":
    return array("Q", [place + shift for place in places]) if shift else places


def _is_same(one: Listed, other: Listed) -> bool:
    """Tell whether a file was not written to between two looks at it."""
    return one[STATUS][SIZE] == other[STATUS][SIZE] and one[MTIME_NS] == other[MTIME_NS]


def _as_read(row: Listed, size_bytes: int) -> Listed:
    """Return the row of a file that shipped other than listed; nothing is ever copied by it."""
    name, status, mtime_ns, ctime_ns = row
    return distrust((name, (*status[:SIZE], size_bytes), mtime_ns, ctime_ns))
