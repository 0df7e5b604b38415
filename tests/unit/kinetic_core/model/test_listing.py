import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.model.blocks import BLOCK_ROWS, Block, Listing
from kinetic_core.model.entry import ArchiveEntries, ArchiveEntry
from kinetic_core.model.listing import MODE, SIZE, STATUS, Listed, listed
from kinetic_core.model.package import Manifest
from kinetic_core.model.trust import distrust, untrusted

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


def test_entries_that_come_to_a_listing_are_shown_among_its_rows() -> None:
    for rows in (Listing([ROWS[1]]), Listing.of_blocks([Block.of([ROWS[1]])]), [ROWS[1]]):
        entries = ArchiveEntries(rows, ROWS[0])
        assert (list(entries.names), len(entries)) == (["a/", "b.py"], 2)
        assert entries == ENTRIES


# A listing, kept as rows or as blocks

NAMES = st.sets(st.text("aé/\U0001f40d\udcff", min_size=1, max_size=5), max_size=30)


def rows_of(names: set[str]) -> tuple[Listed, ...]:
    return tuple((name, (1, len(name), 3, 4, 5, 6, 7), -1, 9) for name in sorted(names))


@given(names=NAMES, cuts=st.lists(st.integers(0, 30), max_size=4))
def test_a_listing_is_the_same_however_it_is_kept(names: set[str], cuts: list[int]) -> None:
    rows = rows_of(names)
    bounds = [0, *sorted(cuts), len(rows)]
    pieces = [rows[start:stop] for start, stop in pairwise(bounds)]
    blocks = Listing.of_blocks(Block.of(piece) for piece in pieces if piece)
    listing = Listing(rows)
    assert (len(blocks), blocks.names, blocks.size_bytes) == (len(rows), listing.names, listing.size_bytes)
    assert [blocks[index] for index in range(len(rows))] == list(rows)
    assert [blocks.named(name) for name in sorted(names)] == [listing.named(name) for name in sorted(names)]
    assert (blocks.rows, tuple(blocks), blocks[1:3]) == (rows, rows, rows[1:3])
    assert (blocks == listing, hash(blocks) == hash(listing), repr(blocks) == repr(listing)) == (True, True, True)


@given(names=NAMES, start=st.integers(0, 30), stop=st.integers(0, 30))
def test_a_part_of_a_listing_is_that_of_its_rows(names: set[str], start: int, stop: int) -> None:
    rows = rows_of(names)
    kept = Listing.of_blocks(Listing(rows).blocks)
    assert kept.part(start, stop).rows == Listing(rows).part(start, stop).rows == rows[start:stop]


def test_a_long_listing_is_cut_into_blocks_and_put_together_from_parts() -> None:
    rows = rows_of({f"{number:05}" for number in range(3 * BLOCK_ROWS)})
    listing = Listing.of_blocks(Listing(rows).blocks)
    assert [block.row_count for block in listing.blocks] == [BLOCK_ROWS] * 3
    middle = BLOCK_ROWS + 100
    parts = [listing.part(0, middle), Listing([rows[middle]]), listing.part(middle + 1, len(rows))]
    again = Listing.of_blocks(block for part in parts for block in part.blocks)
    assert again.blocks == listing.blocks
    assert Listing(rows[1:]) != listing
    assert Listing.of_blocks(Listing(rows[:100]).blocks + Listing(rows[100:]).blocks) == listing


def test_a_name_that_a_listing_has_not_is_not_found() -> None:
    rows = rows_of({f"{number:05}" for number in range(2 * BLOCK_ROWS)})
    for listing in (Listing(rows), Listing.of_blocks(Listing(rows).blocks), Listing.of_blocks(())):
        assert [listing.named(name) for name in ("", "00001a", "zz")] == [None] * 3


def test_rows_in_some_places_are_replaced_and_blocks_without_them_stay() -> None:
    rows = rows_of({f"{number:05}" for number in range(2 * BLOCK_ROWS)})
    listing = Listing(rows)
    doubted = listing.replaced({3: distrust(rows[3])})
    assert list(untrusted(doubted)) == [3]
    assert doubted.blocks[1] is listing.blocks[1]
    assert doubted.replaced({3: rows[3]}) == listing
    assert listing.replaced({}) is listing


def test_a_directory_adds_nothing_to_the_size() -> None:
    assert Listing(ROWS).size_bytes == Listing.of_blocks(Listing(ROWS).blocks).size_bytes == 12


def test_of_long_files_alone_the_sizes_are_added_up_too() -> None:
    rows = [(name, (0o100644, 1, 1, 1, 0, 0, size), 5, 6) for name, size in (("a", 10), ("b", 20), ("c", 30))]
    for listing in (Listing(rows), Listing.of_blocks(Listing(rows).blocks)):
        assert [listing.bytes_in_long(least) for least in (0, 20, 31)] == [60, 50, 0]


def test_a_listing_equals_no_rows() -> None:
    assert Listing(ROWS) != tuple(ROWS)


@pytest.mark.parametrize("seconds", [-(10**10), 10**10])
def test_a_time_that_64_bits_do_not_hold_counts_as_the_latest_that_they_do(seconds: int) -> None:
    row: Listed = ("a", (0o100644, 1 << 63, 1, 1, 0, 0, 12), seconds * 10**9, 6)
    (kept,) = Block.of([row]).rows
    assert (kept[:2], kept[3]) == (row[:2], 6)
    assert abs(kept[2]) >= (1 << 63) - 1
