"""Archives that are damaged, lie, or hold too much."""

import os
import struct
import zipfile
import zlib
from collections.abc import Callable

import pytest

from tests.unit.kinetic_runner.box import Box, entry, replace_all


def set_size(data: bytearray, size: int) -> None:
    """Let the directory's first entry declare another size."""
    at = data.index(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<L", size)


@pytest.mark.parametrize("declared", [3, 4_999, 5_001, 1 << 30])
@pytest.mark.parametrize("content", [b"x" * 5_000, os.urandom(80_000) + b"x" * 5_000])
def test_a_size_that_is_not_the_declared_one_stops_the_job(box: Box, declared: int, content: bytes) -> None:
    box.zip((entry("f"), content)).patch(lambda data: set_size(data, declared))
    with pytest.raises(ValueError, match="does not have the"):
        box.extract()


def test_a_stored_entry_with_two_sizes_is_refused(box: Box) -> None:
    box.zip((entry("f", compress_type=zipfile.ZIP_STORED), b"xxxx")).patch(lambda data: set_size(data, 5))
    box.refuse("does not have the size that it declares")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("content", [b"short" * 10, os.urandom(90_000)])
def test_damaged_bytes_stop_the_job(box: Box, method: int, content: bytes) -> None:
    box.zip((entry("f", compress_type=method), content))

    def change(data: bytearray) -> None:
        at = data.index(b"PK\1\2")
        data[at + 16 : at + 20] = b"\0\0\0\1"

    with pytest.raises(ValueError, match="is damaged"):
        box.patch(change).extract()


@pytest.mark.parametrize("content", [b"short" * 10, os.urandom(90_000)])
def test_bytes_that_are_not_packed_stop_the_job(box: Box, content: bytes) -> None:
    def change(data: bytearray) -> None:
        data[31 : 31 + 8] = b"\xff" * 8

    with pytest.raises(ValueError, match="is damaged"):
        box.zip((entry("f"), content)).patch(change).extract()


def test_a_packed_stream_that_ends_early_stops_the_job(box: Box) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = os.urandom(100_000)
    body = packer.compress(content) + packer.flush(zlib.Z_SYNC_FLUSH)
    box.zip((entry("f", compress_type=zipfile.ZIP_STORED), body))

    def change(data: bytearray) -> None:
        at = data.index(b"PK\1\2")
        data[at + 10 : at + 12] = struct.pack("<H", 8)
        data[at + 16 : at + 20] = struct.pack("<L", zlib.crc32(content))
        set_size(data, len(content))

    with pytest.raises(ValueError, match="does not have the"):
        box.patch(change).extract()


def test_a_bomb_is_refused_before_anything_is_written(box: Box) -> None:
    box.zip((entry("f"), b"x")).patch(lambda data: set_size(data, 0xFFFFFFF0))
    box.refuse("more than the limit", KINETIC_MAX_CONTEXT_GB="1")


def test_ten_gib_and_two_hundred_times_are_the_limit_by_default(box: Box) -> None:
    entries = [(entry(f"f{number}"), b"x") for number in range(4)]

    def change(data: bytearray) -> None:
        at = 0
        for _ in entries:
            at = data.index(b"PK\1\2", at)
            data[at + 24 : at + 28] = struct.pack("<L", 0xFFFFFFF0)
            at += 4

    box.zip(*entries).patch(change)
    box.refuse("more than the limit of 10737418240")


@pytest.mark.parametrize("value", ["much", "-1", "0", "nan", "inf"])
def test_a_limit_that_cannot_be_used_is_ignored_with_a_warning(box: Box, value: str) -> None:
    box.zip((entry("f"), b"x")).extract(KINETIC_MAX_CONTEXT_GB=value)
    (warning,) = box.journal.warnings
    assert f"KINETIC_MAX_CONTEXT_GB={value!r}" in warning


def test_a_fraction_of_a_gib_is_a_limit(box: Box) -> None:
    box.zip((entry("f"), b"x" * 10_000))
    box.refuse("more than the limit", KINETIC_MAX_CONTEXT_GB="0.000001")


def test_methods_that_no_context_uses_are_refused(box: Box) -> None:
    box.zip((entry("f", compress_type=zipfile.ZIP_BZIP2), b"x" * 100))
    box.refuse("packed by method 12")


def test_encrypted_entries_are_refused(box: Box) -> None:
    def change(data: bytearray) -> None:
        data[data.index(b"PK\1\2") + 8] |= 1

    box.zip((entry("f"), b"x")).patch(change)
    box.refuse("encrypted")


def test_a_header_that_names_another_file_is_refused(box: Box) -> None:
    with pytest.raises(ValueError, match="damaged or names something else"):
        box.zip((entry("f"), b"x")).patch(lambda data: data.__setitem__(30, ord("g"))).extract()


def test_names_that_are_not_utf8_are_refused_where_the_archive_says_that_they_are(box: Box) -> None:
    box.zip((entry("naïve"), b"x")).patch(lambda data: replace_all(data, "ï".encode(), b"\xff\xff"))
    box.refuse("is not UTF-8")


def test_names_of_old_archives_are_cp437(box: Box) -> None:
    def change(data: bytearray) -> None:
        replace_all(data, b"aXb", b"a\x81b")

    assert box.zip((entry("aXb"), b"x")).patch(change).extract().joinpath("aüb").exists()


def cut_comment(data: bytearray) -> None:
    """Say that the directory lies elsewhere."""
    at = data.index(b"PK\5\6")
    data[at + 16 : at + 20] = struct.pack("<L", 1)


def miscount(data: bytearray) -> None:
    """Say that there are more entries."""
    at = data.index(b"PK\5\6")
    data[at + 8 : at + 12] = struct.pack("<HH", 2, 2)


def split(data: bytearray) -> None:
    """Say that there are more disks."""
    data[data.index(b"PK\5\6") + 4] = 1


def bad_magic(data: bytearray) -> None:
    """Damage the directory's first entry."""
    data[data.index(b"PK\1\2") + 2] = 9


def endless_name(data: bytearray) -> None:
    """Let the directory's first name go on beyond its end."""
    at = data.index(b"PK\1\2")
    data[at + 28 : at + 30] = b"\xff\xff"


def far_offset(data: bytearray) -> None:
    """Let the first entry lie beyond the end."""
    at = data.index(b"PK\1\2")
    data[at + 42 : at + 46] = struct.pack("<L", 0xFFFF)


def long_body(data: bytearray) -> None:
    """Let the first entry's bytes go on beyond the end."""
    at = data.index(b"PK\1\2")
    data[at + 20 : at + 24] = struct.pack("<L", 0xFFFFFF)


def short_directory(data: bytearray) -> None:
    """Cut the directory's last entry short."""
    at, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    del data[at + 20 : end]
    data[-22 + 12 : -22 + 16] = struct.pack("<L", 20)


def no_wide_sizes(data: bytearray) -> None:
    """Announce 64-bit sizes that are not there."""
    at = data.index(b"PK\1\2")
    data[at + 24 : at + 28] = b"\xff" * 4
    replace_all(data, b"\xfe\xca\x04\x00", b"\x01\x00\x04\x00")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cut_comment, "not where its end says"),
        (miscount, "lists 1 entries"),
        (split, "split"),
        (bad_magic, "directory is damaged"),
        (endless_name, "directory is damaged"),
        (far_offset, "is missing"),
        (long_body, "cut off"),
        (short_directory, "directory is cut off"),
        (no_wide_sizes, "sizes of 'f' are damaged"),
    ],
)
def test_a_damaged_archive_is_told_as_such(box: Box, change: Callable[[bytearray], None], words: str) -> None:
    box.zip((entry("f", extra=b"\xfe\xca\x04\x00abcd"), b"x")).patch(change)
    with pytest.raises(ValueError, match=words):
        box.extract()


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\5\6"])
def test_what_is_no_archive_is_told_as_such(box: Box, content: bytes) -> None:
    box.archive.write_bytes(content)
    box.refuse("not a ZIP archive")


def test_an_archive_without_entries_makes_an_empty_workspace(box: Box) -> None:
    assert list(box.zip().extract().iterdir()) == []


@pytest.mark.parametrize("all_wide", [True, False])
def test_archives_with_64_bit_records_are_read(box: Box, all_wide: bool) -> None:
    with zipfile.ZipFile(box.archive, "w") as archive, archive.open("f", "w", force_zip64=True) as stream:
        stream.write(b"wide")

    def change(data: bytearray) -> None:
        # Widen the directory by hand: the standard library writes wide fields only where it must.
        at, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
        header, name = data[at : at + 46], data[at + 46 : end]
        size, packed, offset = struct.unpack("<L", header[24:28])[0], struct.unpack("<L", header[20:24])[0], 0
        if all_wide:
            extra = struct.pack("<HHQQQ", 1, 24, size, packed, offset)
            header[20:28], header[42:46] = b"\xff" * 8, b"\xff" * 4
        else:
            extra = struct.pack("<HHQ", 1, 8, packed)
            header[20:24] = b"\xff" * 4
        header[30:32] = struct.pack("<H", len(extra))
        directory = bytes(header) + bytes(name) + extra
        end64 = struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(directory), at)
        locator = struct.pack("<4sLQL", b"PK\6\7", 0, at + len(directory), 1)
        tail = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        data[at:] = directory + end64 + locator + tail

    assert box.patch(change).extract().joinpath("f").read_bytes() == b"wide"


def test_a_damaged_64_bit_end_is_told_as_such(box: Box) -> None:
    tail = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0, 0, 0)
    box.archive.write_bytes(struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1) + tail)
    box.refuse("end of the archive is damaged")


def test_65535_entries_are_no_64_bit_archive_by_themselves(box: Box) -> None:
    box.archive.write_bytes(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0, 0, 0))
    box.refuse("lists 0 entries, but its end says 65535")
