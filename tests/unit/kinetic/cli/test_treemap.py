"""Boxes within boxes, as large as what they stand for."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic.cli.tree import build_tree
from kinetic.cli.treemap import MAX_BOXES, Box, treemap
from kinetic_core.model.entry import ArchiveEntry


def boxes_of(sizes: dict[str, int], width: float = 1000, height: float = 600) -> list[Box]:
    entries = [ArchiveEntry(name=name, size_bytes=size, mode=0o644) for name, size in sizes.items()]
    return treemap(build_tree(entries), width, height)


def overlap(one: Box, other: Box) -> bool:
    across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    return across > 1e-6 and down > 1e-6


def test_boxes_are_as_large_as_their_files_and_fill_the_drawing() -> None:
    boxes = {box.path: box for box in boxes_of({"a": 100, "b": 300, "c": 600})}
    assert {path: round(box.width * box.height) for path, box in boxes.items()} == {
        "a": 60_000,
        "b": 180_000,
        "c": 360_000,
    }


def test_a_directory_stands_before_what_is_in_it_and_holds_it() -> None:
    outer, inner = boxes_of({"pkg/deep/x.py": 5, "pkg/y.py": 0})[:2]
    assert [outer.path, inner.path] == ["pkg/", "pkg/deep/"]
    assert (outer.files, inner.files) == (2, 1)
    assert outer.x < inner.x
    assert inner.x + inner.width < outer.x + outer.width
    assert inner.y + inner.height < outer.y + outer.height


def test_nothing_to_draw_is_no_box() -> None:
    assert boxes_of({"empty": 0, "hollow/": 0}) == []


def test_there_is_a_bound_on_boxes() -> None:
    assert len(boxes_of({f"d{number % 7}/f{number}": 1 for number in range(20_000)}, 10_000, 10_000)) == MAX_BOXES


@given(st.dictionaries(st.integers(0, 60).map(lambda n: f"f{n}"), st.integers(1, 10**12), min_size=1))
def test_boxes_of_one_directory_never_overlap_and_stay_inside(sizes: dict[str, int]) -> None:
    boxes = boxes_of(sizes)
    assert not any(overlap(one, other) for one, other in combinations(boxes, 2))
    for box in boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width == pytest.approx(min(box.x + box.width, 1000))
        assert box.y + box.height == pytest.approx(min(box.y + box.height, 600))
