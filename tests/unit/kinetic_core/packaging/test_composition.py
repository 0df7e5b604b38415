"""Of what an archive is made, followed from one to the next."""

import json
from typing import Any

import pytest

from kinetic_core.packaging.composition import LOOSE, Composition, Copied
from kinetic_core.wire.layer import Part, Source

WHOLE = Composition.whole("ab" * 32, size_bytes=900, entries=10)


def after(*copied: tuple[int, int, int], entries: int, of: Composition = WHOLE) -> Composition:
    return of.after([Copied(*one) for one in copied], sha256="cd" * 32, entries=entries)


def test_a_whole_archive_is_its_own_base() -> None:
    assert WHOLE.base == Source("context.zip", "ab" * 32, 900)
    assert WHOLE.is_stored
    assert Composition.whole("ab" * 32, size_bytes=22, entries=0).parts == ()


def test_what_was_not_copied_is_loose() -> None:
    made = after((0, 3, 0), (4, 2, 8), entries=7)
    assert made.parts == (Part(0, 0, 3), Part(LOOSE, 0, 1), Part(0, 8, 2), Part(LOOSE, 0, 1))
    assert not made.is_stored


def test_what_lies_side_by_side_becomes_one_part() -> None:
    assert after((0, 3, 0), (3, 7, 3), entries=10).parts == (Part(0, 0, 10),)
    assert after((0, 3, 0), (3, 6, 4), entries=9).parts == (Part(0, 0, 3), Part(0, 4, 6))
    twice = after((1, 3, 1), entries=4, of=after((0, 1, 0), (2, 2, 2), entries=4))
    assert twice.parts == (Part(LOOSE, 0, 2), Part(0, 2, 2))


def test_a_stretch_may_begin_and_end_within_parts() -> None:
    first = after((0, 4, 0), (5, 5, 5), entries=10)
    assert after((0, 6, 2), entries=6, of=first).parts == (Part(0, 2, 2), Part(LOOSE, 0, 1), Part(0, 5, 3))


def test_the_same_archive_stays_stored() -> None:
    same = WHOLE.after([Copied(0, 10, 0)], sha256=WHOLE.sha256, entries=10)
    assert same == WHOLE


def test_a_stretch_beyond_the_end_brings_nothing() -> None:
    assert after((0, 4, 8), entries=4).parts == (Part(0, 8, 2),)


@pytest.mark.parametrize(
    "raw",
    [None, [], {}, {"sha256": "", "sources": 3}, {"sha256": "", "sources": [[1]], "parts": [], "is_stored": True}],
)
def test_what_is_no_composition_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match="tells of no composition"):
        Composition.from_json(raw)


def test_a_composition_survives_json() -> None:
    made = after((0, 3, 0), entries=7)
    assert Composition.from_json(json.loads(json.dumps(made.to_json()))) == made
