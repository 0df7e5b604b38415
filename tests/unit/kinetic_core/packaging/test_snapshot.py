from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.model.blocks import Listing
from kinetic_core.model.package import Exclusion
from kinetic_core.model.trust import RACY_NS, distrust, distrust_racy
from kinetic_core.packaging.outline import Outline
from kinetic_core.packaging.scan import scan
from kinetic_core.packaging.snapshot import Snapshot, read_at
from tests.unit.kinetic_core.packaging.trees import NO_RULES, grow

if TYPE_CHECKING:
    from kinetic_core.model.listing import Listed

SNAPSHOT = Snapshot(
    archive=Path("/kept/abc.zip"),
    size_bytes=1 << 40,
    sha256="abc",
    crc=7,
    made_by="zlib",
    plan=b"{}",
    listing=Listing([("é/\udcff", (1, 2, 3, 4, 5, 6, 1 << 40), 1 << 62, -1)]),
    outline=Outline(
        made_under=b"rules",
        directories=Listing([("", (1, 1 << 63, 3, 4, 5, 6, 7), 8, 9)]),
        exclusions=(Exclusion(name=".git/", source="always", rule=".git"),),
    ),
    directory=5,
    places=(bytes(16), bytes(16)),
)


def archive_of(sha256: str) -> Path:
    return Path("/kept", f"{sha256}.zip")


def test_a_snapshot_comes_back_from_its_bytes() -> None:
    again = Snapshot.from_bytes(SNAPSHOT.to_bytes(), archive_of)
    assert again == SNAPSHOT
    assert again.listing.rows == (("é/\udcff", (1, 2, 3, 4, 5, 6, 1 << 40), 1 << 62, -1),)
    assert (again.artifact.path, again.artifact.sha256) == (SNAPSHOT.archive, "abc")


@given(data=st.data())
def test_a_flipped_bit_anywhere_is_noticed(data: st.DataObject) -> None:
    damaged = bytearray(SNAPSHOT.to_bytes())
    bit = data.draw(st.integers(0, len(damaged) * 8 - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    assert Snapshot.from_bytes(bytes(damaged), archive_of) is None


@given(data=st.data())
def test_a_missing_end_is_noticed(data: st.DataObject) -> None:
    whole = SNAPSHOT.to_bytes()
    assert Snapshot.from_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))], archive_of) is None


def test_equal_listings_are_equal_bytes_however_they_came_about(tmp_path: Path) -> None:
    grow(tmp_path, {f"d/{number}": "x" for number in range(50)})
    one, other = scan(tmp_path, NO_RULES).listing, scan(tmp_path, NO_RULES).listing
    shared = Listing(one[0] for _ in one)
    assert one.blocks == other.blocks != shared.blocks
    assert Listing(one[0][:2] + one[0][2:] for _ in one).blocks == shared.blocks


@pytest.mark.parametrize("late", [0, 1, RACY_NS, 10**18])
def test_what_changed_within_two_seconds_of_the_scan_or_after_it_is_distrusted(late: int) -> None:
    started = 10**18
    limit = started - RACY_NS
    rows: list[Listed] = [
        ("a", (), limit - 1, limit - 1),
        ("b", (), limit + late, limit - 1),
        ("c", (), 0, limit + late),
    ]
    assert distrust_racy(rows, started) == (rows[0], distrust(rows[1]), distrust(rows[2]))


def test_a_distrusted_row_equals_none_of_a_scan(tmp_path: Path) -> None:
    (row,) = scan(grow(tmp_path, {"a": ""}), NO_RULES).listing
    assert distrust(row) != row
    assert distrust(row)[:3] == row[:3]
    assert attrs.evolve(SNAPSHOT, listing=Listing([distrust(row)])).listing.rows == (distrust(row),)


def test_what_is_read_at_a_place_is_whole_or_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    with (tmp_path / "file").open("rb") as stream:
        assert read_at(stream.fileno(), 4, 3) == b"3456"
        with pytest.raises(OSError, match="ends early"):
            read_at(stream.fileno(), 8, 3)
