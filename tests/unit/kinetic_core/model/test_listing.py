import os
from pathlib import Path

from kinetic_core.model.entry import ArchiveEntries, ArchiveEntry
from kinetic_core.model.listing import MODE, SIZE, STATUS, Listed, listed
from kinetic_core.model.package import Manifest

ROWS: list[Listed] = [
    ("a/", (0o040750, 1, 1, 2, 0, 0, 4096), 5, 6),
    ("b.py", (0o104755, 2, 1, 1, 0, 0, 12), 5, 6),
]
ENTRIES = (
    ArchiveEntry(name="a/", size_bytes=0, mode=0o750),
    ArchiveEntry(name="b.py", size_bytes=12, mode=0o4755),
)


def test_a_row_is_what_stat_tells_but_for_the_time_of_reading(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("12345")
    os.utime(path, ns=(1, 2))
    row = listed("f", path.stat())
    os.utime(path, ns=(99, 2))
    assert row[:3] == listed("f", path.stat())[:3]
    assert (row[STATUS][SIZE], row[STATUS][MODE], row[2]) == (5, path.stat().st_mode, 2)


def test_entries_are_read_from_rows_by_place_by_slice_and_in_order() -> None:
    entries = ArchiveEntries(ROWS)
    assert len(entries) == 2
    assert (entries[0], entries[-1]) == ENTRIES
    assert tuple(entries) == ENTRIES
    assert tuple(entries[1:]) == ENTRIES[1:]
    assert ENTRIES[1] in entries
    assert entries.names == ["a/", "b.py"]


def test_entries_equal_the_same_entries_however_they_are_kept() -> None:
    assert ArchiveEntries(ROWS) == ENTRIES
    assert ArchiveEntries(ROWS) == ArchiveEntries(list(ROWS))
    assert ArchiveEntries(ROWS) != ArchiveEntries(ROWS[1:])
    assert ArchiveEntries(ROWS) != "a/"
    assert len({ArchiveEntries(ROWS), ArchiveEntries(list(ROWS))}) == 1


def test_entries_are_shown_by_their_number_for_there_may_be_many() -> None:
    assert repr(ArchiveEntries(ROWS)) == "<2 archive entries>"


def test_a_manifest_knows_the_names_of_its_entries_however_they_are_kept() -> None:
    assert Manifest(entries=ENTRIES).names == Manifest(entries=ArchiveEntries(ROWS)).names == ["a/", "b.py"]
