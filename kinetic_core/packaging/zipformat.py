"""The records of a ZIP archive, with ZIP64 where a number does not fit. Bytes only; nothing here touches a file."""

import stat
import struct
import time
import zlib
from collections.abc import Iterable
from typing import Final, NamedTuple

STORED: Final = 0
DEFLATED: Final = 8
LIMIT_32: Final = 0xFFFF_FFFF
LIMIT_16: Final = 0xFFFF

_UTF8_NAME: Final = 0x800
_SIZES_FOLLOW: Final = 0x8
_UNIX: Final = 3 << 8
_PLAIN_VERSION: Final = 20
_ZIP64_VERSION: Final = 45
_ZIP64_TAG: Final = 1
_MSDOS_DIRECTORY: Final = 0x10
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
_LATEST: Final = (2107, 12, 31, 23, 59, 59)

_LOCAL: Final = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL: Final = struct.Struct("<4sHHHHHHIIIHHHHHII")
_CENTRAL_PLAIN: Final = struct.Struct("<4sH26sHHHII")
_OFFSET: Final = struct.Struct("<I")
_OFFSET_AT: Final = _CENTRAL.size - _OFFSET.size
_TAG_BYTES: Final = 4
_END: Final = struct.Struct("<4sHHHHIIH")
_END_64: Final = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR_64: Final = struct.Struct("<4sIQI")


class Member(NamedTuple):
    """One entry of an archive, complete."""

    name: bytes
    mode: int
    """`st_mode` of the file."""
    date: int
    clock: int
    """With `date`, as `dos_time` returns them."""
    method: int = STORED
    crc: int = 0
    compressed_bytes: int = 0
    size_bytes: int = 0
    offset: int = 0
    sizes_follow: bool = False
    """Whether CRC and sizes follow the content, as for content that is streamed."""
    wide: bool = False
    """Whether the sizes that follow the content take 64 bits."""


class Moments(dict[int, tuple[int, int]]):
    """Seconds since the epoch as a ZIP archive keeps them; each is worked out once, and files often share one.

    >>> Moments()[0]
    (33, 0)
    """

    def __missing__(self, second: int) -> tuple[int, int]:
        self[second] = dos_time(second)
        return self[second]


def needs_wide_sizes(most_bytes: int) -> bool:
    """Tell whether a streamed entry of up to so many bytes may need 64-bit sizes, deflated or not.

    >>> needs_wide_sizes(1 << 30), needs_wide_sizes(1 << 32)
    (False, True)
    """
    return most_bytes + most_bytes // 16 > LIMIT_32


def dos_time(mtime: float) -> tuple[int, int]:
    """Return date and time as a ZIP archive keeps them: local time, two seconds apart, within 1980 to 2107.

    >>> dos_time(-1.0) == dos_time(0.0) == (0x21, 0)
    True
    """
    try:
        moment = time.localtime(mtime)[:6]
    except (OverflowError, OSError, ValueError):
        moment = _EARLIEST if mtime < 0 else _LATEST
    year, month, day, hour, minute, second = min(max(moment, _EARLIEST), _LATEST)
    return (year - 1980) << 9 | month << 5 | day, hour << 11 | minute << 5 | min(second, 59) // 2


def local_time_mark() -> int:
    """Return a number that differs where local time does: at the turn of half a year, since 1980.

    >>> local_time_mark() == local_time_mark()
    True
    """
    half_a_year = 15_778_800
    offsets = [time.localtime(315_532_800 + half_a_year * number).tm_gmtoff for number in range(256)]
    return zlib.crc32(repr((time.tzname, offsets)).encode())


def local_header(member: Member) -> bytes:
    r"""Return what stands before the content of an entry, its name included.

    >>> local_header(Member(name=b"a", mode=0o100644, date=33, clock=0))[:4]
    b'PK\x03\x04'
    """
    name, _, date, clock, method, crc, compressed, size, _, sizes_follow, wide = member
    version, flags, extra = _PLAIN_VERSION, _UTF8_NAME, b""
    if sizes_follow:
        flags |= _SIZES_FOLLOW
        crc = compressed = size = 0
        if wide:
            version, extra = _ZIP64_VERSION, struct.pack("<HHQQ", _ZIP64_TAG, 16, 0, 0)
            compressed = size = LIMIT_32
    fixed = _LOCAL.pack(
        b"PK\3\4", version, flags, method, clock, date, crc, compressed, size, len(name), len(extra)
    )  # fmt: skip
    return fixed + name + extra


def descriptor(member: Member) -> bytes:
    """Return what stands behind the content of a streamed entry: its CRC and sizes.

    >>> len(descriptor(Member(name=b"a", mode=0, date=33, clock=0, sizes_follow=True)))
    16
    """
    layout = "<4sIQQ" if member.wide else "<4sIII"
    return struct.pack(layout, b"PK\7\x08", member.crc, member.compressed_bytes, member.size_bytes)


def central_header(member: Member) -> bytes:
    r"""Return an entry's record in the directory at the end of the archive.

    >>> central_header(Member(name=b"a", mode=0o100644, date=33, clock=0))[:4]
    b'PK\x01\x02'
    """
    name, mode, date, clock, method, crc, compressed, size, offset, sizes_follow, wide = member
    extra = b""
    if size >= LIMIT_32 or compressed >= LIMIT_32 or offset >= LIMIT_32:
        long = [number for number in (size, compressed, offset) if number >= LIMIT_32]
        extra = struct.pack(f"<HH{len(long)}Q", _ZIP64_TAG, 8 * len(long), *long)
        size, compressed, offset = min(size, LIMIT_32), min(compressed, LIMIT_32), min(offset, LIMIT_32)
    version = _ZIP64_VERSION if extra or wide else _PLAIN_VERSION
    flags = _UTF8_NAME | _SIZES_FOLLOW if sizes_follow else _UTF8_NAME
    fixed = _CENTRAL.pack(
        b"PK\1\2", _UNIX | version, version, flags, method, clock, date, crc,
        compressed, size, len(name), len(extra), 0, 0, 0, _attributes(mode), offset,
    )  # fmt: skip
    return fixed + name + extra


def plain_central_headers(entries: Iterable[tuple[bytes, int, bytes, int]]) -> list[bytes]:
    """Return the records of entries of which nothing takes more than 32 bits.

    Args:
        entries: Of each the name, the mode of the file, what the record has in common with the header before the
            content, as `smallfiles.COMMON` lays it out, and the offset of that header.
    """
    pack, made_by = _CENTRAL_PLAIN.pack, _UNIX | _PLAIN_VERSION
    return [
        pack(b"PK\1\2", made_by, common, 0, 0, 0, _attributes(mode), offset) + name
        for name, mode, common, offset in entries
    ]


def _attributes(mode: int) -> int:
    return (mode & 0xFFFF) << 16 | (_MSDOS_DIRECTORY if stat.S_ISDIR(mode) else 0)


def member_of(header: bytes) -> Member:
    """Return the entry that a record in the directory is of.

    Args:
        header: As `central_header` makes it.

    >>> member = Member(name=b"a", mode=0o100644, date=33, clock=0, offset=1 << 40)
    >>> member_of(central_header(member)) == member
    True
    """
    _, _, _, flags, method, clock, date, crc, *sizes, name_bytes, extra_bytes, _, _, _, attributes, offset = (
        _CENTRAL.unpack_from(header)
    )
    end = _CENTRAL.size + name_bytes
    long = iter(struct.unpack_from(f"<{extra_bytes // 8}Q", header, end + _TAG_BYTES) if extra_bytes else ())
    size, compressed, offset = (next(long) if one == LIMIT_32 else one for one in (sizes[1], sizes[0], offset))
    follow = bool(flags & _SIZES_FOLLOW)
    return Member(
        header[_CENTRAL.size : end], attributes >> 16, date, clock,
        method, crc, compressed, size, offset, follow, follow and needs_wide_sizes(size),
    )  # fmt: skip


def moved_headers(headers: bytes, starts: Iterable[int], offsets: Iterable[int]) -> bytes:
    """Return records in the directory, of entries that lie at other places; below 4 GiB, before and now.

    Args:
        headers: As `central_header` makes them, one after the other.
        starts: Where each begins.
        offsets: Where each entry lies now.

    >>> member = Member(name=b"a", mode=0o100644, date=33, clock=0)
    >>> moved_headers(central_header(member), [0], [7]) == central_header(member._replace(offset=7))
    True
    """
    moved = bytearray(headers)
    for start, offset in zip(starts, offsets, strict=True):
        _OFFSET.pack_into(moved, start + _OFFSET_AT, offset)
    return bytes(moved)


def end_of_archive(*, entries: int, offset: int, size_bytes: int) -> bytes:
    """Return the records that close an archive.

    Args:
        entries: How many there are.
        offset: Where the central directory starts.
        size_bytes: Its length.

    >>> [len(end_of_archive(entries=entries, offset=0, size_bytes=0)) for entries in (3, 70_000)]
    [22, 98]
    """
    wide = b""
    if entries >= LIMIT_16 or offset >= LIMIT_32 or size_bytes >= LIMIT_32:
        version = _ZIP64_VERSION
        wide = _END_64.pack(b"PK\6\6", 44, _UNIX | version, version, 0, 0, entries, entries, size_bytes, offset)
        wide += _LOCATOR_64.pack(b"PK\6\7", 0, offset + size_bytes, 1)
    count = min(entries, LIMIT_16)
    return wide + _END.pack(b"PK\5\6", 0, 0, count, count, min(size_bytes, LIMIT_32), min(offset, LIMIT_32), 0)
