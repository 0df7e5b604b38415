"""What a packaging leaves for the next one: the archive, and the listing that it was made from."""

import marshal
import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.model.listing import MODE, MTIME_NS, NAME, SIZE, STATUS, Listed
from kinetic_core.model.package import Artifact
from kinetic_core.model.sealed import sealed, unsealed
from kinetic_core.model.trust import distrust, is_trusted
from kinetic_core.packaging.deflate import Codec
from kinetic_core.packaging.packing import Packer, Piece, Run, is_long
from kinetic_core.packaging.source import COPIED_BYTES
from kinetic_core.packaging.zipformat import Member, Moments, local_time_mark, needs_wide_sizes

_MAGIC: Final = b"kinetic snapshot 2\n"
_SECOND: Final = 10**9


@attrs.frozen(kw_only=True)
class Places:
    """Where the content of each row lies in an archive; plain numbers, one after the other for all rows."""

    methods: "array[int]"
    crcs: "array[int]"
    compressed_bytes: "array[int]"
    offsets: "array[int]"
    """Of the local headers; one more than there are rows: the last is where the files end."""

    @classmethod
    def empty(cls) -> "Places":
        """Return places for no row yet."""
        return cls(methods=array("B"), crcs=array("Q"), compressed_bytes=array("Q"), offsets=array("Q"))

    def add(self, member: Member) -> None:
        """Append one."""
        self.methods.append(member.method)
        self.crcs.append(member.crc)
        self.compressed_bytes.append(member.compressed_bytes)
        self.offsets.append(member.offset)

    def extend(self, *numbers: Iterable[int]) -> None:
        """Append several, each of the four numbers of all.

        >>> places = Places.empty()
        >>> places.extend([8, 0], [1, 2], [3, 4], [0, 50])
        >>> places.offsets.tolist()
        [0, 50]
        """
        for kept, more in zip(attrs.astuple(self, recurse=False), numbers, strict=True):
            kept.extend(more)

    def to_plain(self) -> tuple[bytes, ...]:
        """Return what `from_plain` takes."""
        return tuple(numbers.tobytes() for numbers in attrs.astuple(self, recurse=False))

    @classmethod
    def from_plain(cls, plain: Iterable[bytes]) -> "Places":
        """Return the places that `to_plain` was asked of.

        >>> Places.from_plain(Places.empty().to_plain()).offsets.tolist()
        []
        """
        places = cls.empty()
        for numbers, data in zip(attrs.astuple(places, recurse=False), plain, strict=True):
            numbers.frombytes(data)
        return places


@attrs.frozen(kw_only=True)
class Snapshot:
    """An archive written earlier, as a value: whoever asks for packaging keeps it, and hands it in the next time."""

    archive: Path
    size_bytes: int
    sha256: str
    crc: int
    """CRC-32 of the whole archive: damage is seen before anything of it ships."""
    made_by: str
    """What the bytes depend on beside tree and plan."""
    plan: bytes
    rows: bytes = attrs.field(repr=False)
    """The listing, marshalled; rows that may have changed since without a sign equal no row of any scan."""
    places: tuple[bytes, ...] = attrs.field(repr=False)

    @property
    def artifact(self) -> Artifact:
        """Return the archive."""
        return Artifact(path=self.archive, size_bytes=self.size_bytes, sha256=self.sha256)

    @property
    def entry_count(self) -> int:
        """Return how many entries the archive has besides the plan."""
        return len(Places.from_plain(self.places).offsets) - 1

    def listing(self) -> tuple[Listed, ...]:
        """Return the rows."""
        rows: tuple[Listed, ...] = marshal.loads(self.rows)  # noqa: S302  read back under a checksum only
        return rows

    def to_bytes(self) -> bytes:
        """Return all but the archive's path, under a checksum."""
        fields = (self.size_bytes, self.sha256, self.crc, self.made_by, self.plan, self.rows, self.places)
        return sealed(_MAGIC, fields)

    @classmethod
    def from_bytes(cls, data: bytes, archive_of: Callable[[str], Path]) -> "Snapshot | None":
        """Read what `to_bytes` wrote; `None` when it is damaged or of another format.

        Args:
            data: Whole.
            archive_of: Tells where the archive of a SHA-256 lies.

        >>> Snapshot.from_bytes(b"", Path) is None
        True
        """
        fields = unsealed(_MAGIC, data)
        if fields is None:
            return None
        size_bytes, sha256, crc, made_by, plan, rows, places = fields
        return cls(
            archive=archive_of(sha256),
            size_bytes=size_bytes,
            sha256=sha256,
            crc=crc,
            made_by=made_by,
            plan=plan,
            rows=rows,
            places=places,
        )


def maker(codec: Codec) -> str:
    """Name what an archive's bytes depend on beside tree and plan: the codec, and local time.

    >>> from kinetic_core.packaging.deflate import find_codec
    >>> maker(find_codec()) == maker(find_codec())
    True
    """
    return f"{codec.name}; local time {local_time_mark():08x}"


class EarlierArchive:
    """The archive of a snapshot, found whole."""

    def __init__(self, descriptor: int, snapshot: Snapshot) -> None:
        """Read from an open file.

        Args:
            descriptor: Of the archive; the caller closes it.
            snapshot: What it was made from.
        """
        self.descriptor = descriptor
        self.rows = snapshot.listing()
        self.places = Places.from_plain(snapshot.places)

    def bounds(self, start: int, stop: int) -> tuple[int, int]:
        """Return where the bytes of consecutive rows begin and end."""
        return self.places.offsets[start], self.places.offsets[stop]

    def confirm(self, rows: Sequence[Listed], packer: Packer) -> None:
        """Read files that were too young to be trusted once more; those that the archive holds as they are count again.

        Args:
            rows: Of a later scan.
            packer: To pack what is in doubt, and compare.

        Raises:
            OSError: The archive cannot be read.
        """
        doubtful = [index for index, then in enumerate(self.rows) if not is_trusted(then)]
        now_by_name = {row[NAME]: row for row in rows} if doubtful else {}
        confirmed = list(self.rows)
        for index in doubtful:
            now = now_by_name.get(self.rows[index][NAME])
            # A long file is not worth a reading that may be in vain.
            if now is None or is_long(now) or distrust(now) != self.rows[index]:
                continue
            if self._holds(index, packer.pack([now])):
                confirmed[index] = now
        self.rows = tuple(confirmed)

    def _holds(self, index: int, pieces: list[Piece]) -> bool:
        start, stop = self.bounds(index, index + 1)
        (piece,) = pieces
        return isinstance(piece, Run) and piece.blob == os.pread(self.descriptor, stop - start, start)

    def members(self, start: int, stop: int, *, shift: int, moments: Moments) -> list[Member]:
        """Return the entries of consecutive rows, moved by so many bytes."""
        places = self.places
        members = []
        for index in range(start, stop):
            row = self.rows[index]
            date, clock = moments[row[MTIME_NS] // _SECOND]
            size, long = (0, False) if row[NAME].endswith("/") else (row[STATUS][SIZE], is_long(row))
            member = Member(
                row[NAME].encode(), row[STATUS][MODE], date, clock,
                places.methods[index], places.crcs[index], places.compressed_bytes[index], size,
                places.offsets[index] + shift, long, long and needs_wide_sizes(size),
            )  # fmt: skip
            members.append(member)
        return members


def is_whole(descriptor: int, snapshot: Snapshot, crc32: Callable[[bytes, int], int]) -> bool:
    """Tell whether an archive is what it was when it was written: by its size and its CRC.

    Raises:
        OSError: It cannot be read.
    """
    if os.fstat(descriptor).st_size != snapshot.size_bytes:
        return False
    crc = position = 0
    while data := os.pread(descriptor, COPIED_BYTES, position):
        crc, position = crc32(data, crc), position + len(data)
    return crc == snapshot.crc
