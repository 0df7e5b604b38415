"""What a packaging leaves for the next one: the archive, and the listing that it was made from."""

import os
from array import array
from collections.abc import Callable
from itertools import starmap
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.model.blocks import Block, Listing
from kinetic_core.model.listing import NAME
from kinetic_core.model.package import Artifact
from kinetic_core.model.sealed import sealed, unsealed
from kinetic_core.model.trust import distrust, untrusted
from kinetic_core.packaging.deflate import Codec, find_codec
from kinetic_core.packaging.outline import Outline
from kinetic_core.packaging.packing import Packer, Piece, Run, is_long
from kinetic_core.packaging.source import COPIED_BYTES
from kinetic_core.packaging.zipformat import local_time_mark

_MAGIC: Final = b"kinetic snapshot 4\n"
_FEW: Final = 16


@attrs.frozen(kw_only=True)
class Places:
    """Where each row lies in an archive; plain numbers, one after the other for all rows."""

    offsets: "array[int]"
    """Of the local headers; one more than there are rows: the last is where the files end."""
    headers: "array[int]"
    """Of the records in the directory, from its beginning; one more too."""

    @classmethod
    def empty(cls) -> "Places":
        """Return places for no row yet."""
        return cls(offsets=array("Q"), headers=array("Q"))

    def to_plain(self) -> tuple[bytes, bytes]:
        """Return what `from_plain` takes."""
        return self.offsets.tobytes(), self.headers.tobytes()

    @classmethod
    def from_plain(cls, plain: tuple[bytes, bytes]) -> "Places":
        """Return the places that `to_plain` was asked of.

        >>> Places.from_plain(Places.empty().to_plain()).offsets.tolist()
        []
        """
        offsets, headers = plain
        return cls(offsets=array("Q", offsets), headers=array("Q", headers))


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
    listing: Listing = attrs.field(repr=False)
    """Rows that may have changed since without a sign equal no row of any scan."""
    outline: Outline | None = attrs.field(default=None, repr=False)
    """What tells that no name came or went since; directories that may have changed without a sign are distrusted."""
    directory: int
    """Where the archive's own directory begins."""
    places: tuple[bytes, bytes] = attrs.field(repr=False)

    @property
    def artifact(self) -> Artifact:
        """Return the archive."""
        return Artifact(path=self.archive, size_bytes=self.size_bytes, sha256=self.sha256)

    @property
    def entry_count(self) -> int:
        """Return how many entries the archive has besides the plan."""
        return len(self.listing)

    def to_bytes(self) -> bytes:
        """Return all but the archive's path, under a checksum."""
        fields = (
            *(self.size_bytes, self.sha256, self.crc, self.made_by, self.plan),
            tuple(map(tuple, self.listing.blocks)),
            None if self.outline is None else self.outline.to_plain(),
            *(self.directory, self.places),
        )
        return sealed(_MAGIC, fields, crc32=find_codec().crc32)

    @classmethod
    def from_bytes(cls, data: bytes, archive_of: Callable[[str], Path]) -> "Snapshot | None":
        """Read what `to_bytes` wrote; `None` when it is damaged or of another format.

        Args:
            data: Whole.
            archive_of: Tells where the archive of a SHA-256 lies.

        >>> Snapshot.from_bytes(b"", Path) is None
        True
        """
        fields = unsealed(_MAGIC, data, crc32=find_codec().crc32)
        if fields is None:
            return None
        size_bytes, sha256, crc, made_by, plan, blocks, outline, directory, places = fields
        return cls(
            archive=archive_of(sha256),
            size_bytes=size_bytes,
            sha256=sha256,
            crc=crc,
            made_by=made_by,
            plan=plan,
            listing=Listing.of_blocks(starmap(Block, blocks)),
            outline=None if outline is None else Outline.from_plain(outline),
            directory=directory,
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
        self.listing = snapshot.listing
        self.places = Places.from_plain(snapshot.places)
        self._directory = snapshot.directory

    def bounds(self, start: int, stop: int) -> tuple[int, int]:
        """Return where the bytes of consecutive rows begin and end."""
        return self.places.offsets[start], self.places.offsets[stop]

    def headers(self, start: int, stop: int) -> bytes:
        """Return the records of consecutive rows in the archive's directory.

        Raises:
            OSError: They cannot be read.
        """
        begin, end = self.places.headers[start], self.places.headers[stop]
        return read_at(self.descriptor, end - begin, self._directory + begin)

    def confirm(self, listing: Listing, packer: Packer) -> None:
        """Read files that were too young to be trusted once more; those that the archive holds as they are count again.

        Args:
            listing: Of a later scan.
            packer: To pack what is in doubt, and compare.

        Raises:
            OSError: The archive cannot be read.
        """
        doubtful, earlier = list(untrusted(self.listing)), self.listing
        if len(doubtful) > _FEW:
            # From here on each row is at hand in both.
            earlier, listing = Listing(earlier.rows), Listing(listing.rows)
        confirmed = {}
        for index in doubtful:
            then = earlier[index]
            now = listing.named(then[NAME])
            # A long file is not worth a reading that may be in vain.
            if now is None or is_long(now) or distrust(now) != then:
                continue
            if self._holds(index, packer.pack([now])):
                confirmed[index] = now
        self.listing = earlier.replaced(confirmed)

    def _holds(self, index: int, pieces: list[Piece]) -> bool:
        start, stop = self.bounds(index, index + 1)
        (piece,) = pieces
        return isinstance(piece, Run) and piece.blob == os.pread(self.descriptor, stop - start, start)


def read_at(descriptor: int, size: int, position: int) -> bytes:
    """Read so much from a place in a file, whatever one call gives.

    Raises:
        OSError: It cannot be read, or ends early.
    """
    pieces = []
    while size:
        data = os.pread(descriptor, size, position)
        if not data:
            raise OSError(0, "it ends early")
        pieces.append(data)
        size, position = size - len(data), position + len(data)
    return b"".join(pieces)


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
