"""The list of what a ZIP archive holds.

Read without the standard library's `zipfile`: importing that costs half a cold start, and parsing with it most
of an extraction's time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from struct import Struct
from typing import Final

from kinetic_core.wire.zipdirectory import find_directory

_CENTRAL: Final = Struct("<4sxB2x4H3L3H4x2L")
_LOCAL: Final = Struct("<4s22x2H")
_MAX_32: Final = 0xFFFFFFFF
_UTF8: Final = 0x800
_ENCRYPTED: Final = 0x2041
_UNIX: Final = (3, 19)
_EXTRA_ZIP64: Final = 1
_EXTRA_TIMES: Final = 0x5455
_HAS_MTIME: Final = 1


@dataclass(slots=True)
class ZipEntry:
    """One entry, as the archive's directory lists it; nothing in it is to be trusted yet."""

    name: str
    raw_name: bytes
    method: int
    crc: int
    packed_bytes: int
    size_bytes: int
    offset: int
    """Of the entry's own header."""
    unix_mode: int | None
    """File type and permission bits; `None` for archives made elsewhere than on Unix."""
    dos_time: tuple[int, int]
    """Date and time of the last change, local time, two seconds exact."""
    unix_mtime_s: int | None
    """The last change in seconds since the epoch, where the archive tells."""


def list_archive(data: mmap) -> list[ZipEntry]:
    """Read the directory of an archive.

    Raises:
        ValueError: It is no ZIP archive, damaged, split, or encrypted.
    """
    count, offset, end = find_directory(data)
    entries = list(_read_directory(data, offset, end))
    if len(entries) != count:
        raise ValueError(f"the archive's directory lists {len(entries)} entries, but its end says {count}")
    return entries


def data_range(data: mmap, entry: ZipEntry) -> tuple[int, int]:
    """Return where an entry's packed bytes begin and end.

    Raises:
        ValueError: The entry's own header is missing or names something else.
    """
    try:
        magic, name_len, extra_len = _LOCAL.unpack_from(data, entry.offset)
    except Exception as error:
        raise ValueError(f"the header of {entry.name!r} is missing") from error
    name_at = entry.offset + _LOCAL.size
    start = name_at + name_len + extra_len
    if magic != b"PK\3\4" or data[name_at : name_at + name_len] != entry.raw_name:
        raise ValueError(f"the header of {entry.name!r} is damaged or names something else")
    if start + entry.packed_bytes > len(data):
        raise ValueError(f"the bytes of {entry.name!r} are cut off")
    return start, start + entry.packed_bytes


def _read_directory(data: mmap, at: int, end: int) -> Iterator[ZipEntry]:
    while at < end:
        if at + _CENTRAL.size > end:
            raise ValueError("the archive's directory is cut off")
        fields = _CENTRAL.unpack_from(data, at)
        magic, creator, flags, method, time, date, crc, packed, size, name_len, extra_len, comment_len = fields[:12]
        external, offset = fields[12:]
        name_at = at + _CENTRAL.size
        extra_at = name_at + name_len
        at = extra_at + extra_len + comment_len
        if magic != b"PK\1\2" or at > end:
            raise ValueError("the archive's directory is damaged")
        raw_name = data[name_at:extra_at]
        mode = external >> 16 if creator in _UNIX else None
        # By position: names would cost as much again, for each of a hundred thousand.
        entry = ZipEntry(
            _decode(raw_name, flags), raw_name, method, crc, packed, size, offset, mode, (date, time), None
        )
        if flags & _ENCRYPTED:
            raise ValueError(f"entry {entry.name!r} is encrypted")
        if extra_len:
            _read_extra(data[extra_at : extra_at + extra_len], entry)
        yield entry


def _decode(raw_name: bytes, flags: int) -> str:
    if raw_name.isascii():
        return raw_name.decode("ascii")
    try:
        return raw_name.decode("utf-8" if flags & _UTF8 else "cp437")
    except UnicodeDecodeError as error:
        raise ValueError(f"entry name {raw_name!r} is not UTF-8") from error


def _read_extra(extra: bytes, entry: ZipEntry) -> None:
    at = 0
    while at + 4 <= len(extra):
        tag, size = int.from_bytes(extra[at : at + 2], "little"), int.from_bytes(extra[at + 2 : at + 4], "little")
        body = extra[at + 4 : at + 4 + size]
        if tag == _EXTRA_ZIP64:
            _widen(body, entry)
        elif tag == _EXTRA_TIMES and len(body) >= 5 and body[0] & _HAS_MTIME:  # noqa: PLR2004 - flags and one time
            entry.unix_mtime_s = int.from_bytes(body[1:5], "little", signed=True)
        at += 4 + size


def _widen(body: bytes, entry: ZipEntry) -> None:
    """Take the 64-bit values of those fields that are too narrow in the directory itself, in their order."""
    wide = [int.from_bytes(body[at : at + 8], "little") for at in range(0, len(body) - 7, 8)]
    for field in ("size_bytes", "packed_bytes", "offset"):
        if getattr(entry, field) != _MAX_32:
            continue
        if not wide:
            raise ValueError(f"the sizes of {entry.name!r} are damaged")
        setattr(entry, field, wide.pop(0))
