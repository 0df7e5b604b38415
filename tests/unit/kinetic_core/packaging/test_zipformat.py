import io
import os
import struct
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.packaging.zipformat import (
    DEFLATED,
    LIMIT_32,
    STORED,
    Member,
    Moments,
    central_header,
    descriptor,
    dos_time,
    end_of_archive,
    local_header,
    local_time_mark,
    member_of,
    moved_headers,
    needs_wide_sizes,
)

GIB = 1 << 30


def unpacked(date: int, clock: int) -> tuple[int, ...]:
    return (date >> 9) + 1980, date >> 5 & 15, date & 31, clock >> 11, clock >> 5 & 63, (clock & 31) * 2


@pytest.mark.parametrize("mtime", [0.0, -1.0, -1e10, -1e20, 315_532_799.0 - 86_400])
def test_a_time_before_1980_becomes_the_first_of_1980(mtime: float) -> None:
    assert unpacked(*dos_time(mtime)) == (1980, 1, 1, 0, 0, 0)


@pytest.mark.parametrize("mtime", [7_258_118_400.0, 1e11, 1e20])
def test_a_time_after_2107_becomes_the_last_moment_of_2107(mtime: float) -> None:
    assert unpacked(*dos_time(mtime)) == (2107, 12, 31, 23, 59, 58)


def test_a_time_between_is_kept_as_local_time_to_two_seconds() -> None:
    year, month, day, hour, minute, second = time.localtime(1_700_000_001)[:6]
    assert unpacked(*dos_time(1_700_000_001)) == (year, month, day, hour, minute, second // 2 * 2)


def test_a_leap_second_stays_within_its_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "localtime", lambda _: (2016, 12, 31, 23, 59, 60))
    assert unpacked(*dos_time(0)) == (2016, 12, 31, 23, 59, 58)


def sparse_archive(path: Path, member: Member, *, padding: int) -> None:
    """Write an archive of one entry with a hole before it and its content a hole."""
    member = member._replace(offset=padding)
    with path.open("wb") as stream:
        stream.seek(padding)
        stream.write(local_header(member))
        stream.seek(member.compressed_bytes, os.SEEK_CUR)
        if member.sizes_follow:
            stream.write(descriptor(member))
        offset = stream.tell()
        stream.write(central_header(member))
        stream.write(end_of_archive(entries=1, offset=offset, size_bytes=stream.tell() - offset))


@pytest.mark.parametrize(
    ("size", "padding"),
    [(10_000, 0), (10_000, 5 * GIB), (5 * GIB, 0), (5 * GIB, 5 * GIB), (0xFFFF_FFFF, 0), (0xFFFF_FFFE, 0)],
)
def test_numbers_over_four_gib_are_read_back_by_zipfile(tmp_path: Path, size: int, padding: int) -> None:
    wide = needs_wide_sizes(size)
    member = Member(
        name=b"big",
        mode=0o100644,
        date=33,
        clock=0,
        compressed_bytes=size,
        size_bytes=size,
        sizes_follow=True,
        wide=wide,
    )
    path = tmp_path / "sparse.zip"
    sparse_archive(path, member, padding=padding)
    with zipfile.ZipFile(path) as archive:
        (info,) = archive.infolist()
        assert (info.file_size, info.compress_size, info.header_offset) == (size, size, padding)
        with archive.open(info) as stream:
            assert stream.read(4) == bytes(4)


@pytest.mark.parametrize("count", [0, 1, 65_534, 65_535, 65_536, 100_000])
def test_any_number_of_entries_is_read_back_by_zipfile(count: int) -> None:
    member = Member(name=b"x", mode=0o100644, date=33, clock=0)
    local, central = local_header(member), central_header(member)
    end = end_of_archive(entries=count, offset=len(local), size_bytes=count * len(central))
    with zipfile.ZipFile(io.BytesIO(local + central * count + end)) as archive:
        assert len(archive.infolist()) == count
    assert (b"PK\6\6" in end) is (count >= 65_535)


def test_a_directory_is_marked_for_unix_and_for_dos() -> None:
    member = Member(name=b"d/", mode=0o040755, date=33, clock=0)
    (attributes,) = struct.unpack_from("<I", central_header(member), 38)
    assert attributes == 0o040755 << 16 | 0x10


@pytest.mark.parametrize("method", [STORED, DEFLATED])
def test_local_and_central_header_agree(method: int) -> None:
    member = Member(b"x", 0o100600, *dos_time(1e9), method=method, crc=7, compressed_bytes=8, size_bytes=9, offset=0)
    assert local_header(member)[4:26] == central_header(member)[6:28]


def test_sizes_that_could_grow_past_the_limit_when_deflated_are_wide() -> None:
    assert not needs_wide_sizes(3 * GIB)
    assert needs_wide_sizes(4 * GIB - 1)


def test_a_moment_is_worked_out_once_for_all_files_of_that_second(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = Moments()
    first = moments[1_700_000_001]
    assert first == dos_time(1_700_000_001)
    monkeypatch.setattr(time, "localtime", lambda _: pytest.fail("asked again"))
    assert moments[1_700_000_001] == first


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be changed here")
def test_the_mark_of_local_time_differs_where_archives_would(monkeypatch: pytest.MonkeyPatch) -> None:
    zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney"]
    marks = set()
    try:
        for zone in zones:
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            marks.add(local_time_mark())
            assert local_time_mark() in marks
    finally:
        monkeypatch.undo()
        time.tzset()
    assert len(marks) == len(zones)


SIZES = st.sampled_from([0, 1, LIMIT_32 - 1, LIMIT_32, 1 << 40])
MEMBERS = st.builds(
    lambda follow, size, **others: Member(
        **others, size_bytes=size, sizes_follow=follow, wide=follow and needs_wide_sizes(size)
    ),
    follow=st.booleans(),
    size=SIZES,
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=9).map(str.encode),
    mode=st.sampled_from([0o100644, 0o104755, 0o040700]),
    date=st.integers(33, 0xFFFF),
    clock=st.integers(0, 0xFFFF),
    method=st.sampled_from([STORED, DEFLATED]),
    crc=st.integers(0, LIMIT_32),
    compressed_bytes=SIZES,
    offset=SIZES,
)


@given(member=MEMBERS)
def test_a_record_tells_all_of_the_entry_that_it_was_made_of(member: Member) -> None:
    assert member_of(central_header(member)) == member


@given(members=st.lists(MEMBERS.filter(lambda member: member.offset < LIMIT_32)), shift=st.integers(-1, 1))
def test_records_of_entries_that_moved_are_what_they_would_be_made_anew(members: list[Member], shift: int) -> None:
    members = [member._replace(offset=1 + number * 99) for number, member in enumerate(members)]
    moved = [member._replace(offset=member.offset + shift) for member in members]
    headers = [central_header(member) for member in members]
    starts = [sum(map(len, headers[:number])) for number in range(len(headers))]
    offsets = [member.offset for member in moved]
    assert moved_headers(b"".join(headers), starts, offsets) == b"".join(map(central_header, moved))
