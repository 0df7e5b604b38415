"""The directory of an archive, record by record."""

import io
import struct
import zipfile

import pytest

from kinetic_core.wire.zipdirectory import Directory
from tests.unit.kinetic_core.wire.archives import mapped, zipped

ENTRIES = {"a.py": b"a" * 500, "é/b.py": b"b" * 900, "c": b""}
DATA = zipped(ENTRIES)


def directory(data: bytes = DATA) -> Directory:
    return Directory(mapped(data))


def test_entries_follow_one_another_up_to_the_directory() -> None:
    found = directory()
    assert len(found) == 3
    assert found.bounds(0, 3) == (0, found.start)
    assert found.bounds(0, 1)[1] == found.bounds(1, 1)[0]
    assert found.bounds(3, 0) == (found.start, found.start)
    assert DATA[found.start : found.start + 4] == b"PK\1\2"
    assert DATA[found.stop : found.stop + 4] == b"PK\5\6"


def test_records_move_with_their_entries() -> None:
    found = directory()
    start, stop = found.bounds(1, 2)
    moved = b"".join((DATA[start:stop], found.records(1, 2, -start)))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, len(moved) - (stop - start), stop - start, 0)
    with zipfile.ZipFile(io.BytesIO(moved + end)) as archive:
        assert archive.namelist() == ["é/b.py", "c"]
        assert archive.read("é/b.py") == ENTRIES["é/b.py"]
    assert found.records(0, 3, 0) == DATA[found.start : found.stop]


def test_an_empty_archive_has_no_entries() -> None:
    assert len(directory(zipped({}))) == 0


def test_an_archive_with_many_entries_is_read_by_its_wider_end() -> None:
    assert len(directory(zipped({f"{number}": b"" for number in range(70_000)}))) == 70_000


@pytest.mark.parametrize(("first", "count"), [(-1, 1), (0, 4), (3, 1), (0, -1)])
def test_entries_that_are_not_there_are_refused(first: int, count: int) -> None:
    with pytest.raises(ValueError, match="of an archive that has 3"):
        directory().bounds(first, count)


@pytest.mark.parametrize("shift", [-1, 1 << 32])
def test_an_offset_out_of_reach_is_refused(shift: int) -> None:
    with pytest.raises(ValueError, match="out of the reach"):
        directory().records(0, 1, shift)


def damaged(at: int, data: bytes) -> bytes:
    start = directory().start
    return DATA[: start + at] + data + DATA[start + at + len(data) :]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        DATA[:-30],
        damaged(0, b"PK\1\3"),
        damaged(42, struct.pack("<L", 77)),
        damaged(42, struct.pack("<L", 1 << 30)),
        damaged(28, struct.pack("<H", 4000)),
        damaged(28, struct.pack("<H", 5)),
        damaged(len(DATA) - directory().start - 22 + 8, struct.pack("<2H", 2, 2)),
        damaged(len(DATA) - directory().start - 22 + 8, struct.pack("<2H", 4, 4)),
    ],
    ids=["empty", "cut", "magic", "backwards", "beyond", "longer", "slid", "fewer", "more"],
)
def test_damage_is_seen(data: bytes) -> None:
    with pytest.raises(ValueError, match="archive"):
        directory(data or b"\0")
