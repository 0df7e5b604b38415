"""Two sorted listings, laid side by side: which stretches of one stand in the other unchanged."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from kinetic_core.model.blocks import Listing
from kinetic_core.model.listing import NAME, Listed
from kinetic_core.model.looks import LOOK_BYTES


class Stretch(NamedTuple):
    """Consecutive rows of the new listing."""

    start: int
    stop: int
    earlier: int | None
    """Where the same rows start in the earlier listing; `None` when they are new or changed."""


def align(rows: Sequence[Listed], earlier: Sequence[Listed]) -> Iterator[Stretch]:
    """Cut a listing into stretches that stand in an earlier one as they are, and the rest.

    What is the same is compared in ever longer slices, at the speed of C.

    Args:
        rows: Sorted by name.
        earlier: Sorted by name.

    >>> a, b, c = ((name, (), 0, 0) for name in "abc")
    >>> list(align([a, b, c], [a, c]))
    [Stretch(start=0, stop=1, earlier=0), Stretch(start=1, stop=2, earlier=None), Stretch(start=2, stop=3, earlier=1)]
    """
    if isinstance(rows, Listing) and isinstance(earlier, Listing) and _has_same_names(rows, earlier):
        yield from _by_number(rows, earlier)
        return
    here = there = fresh = 0
    while here < len(rows) and there < len(earlier):
        length = _common(rows, here, earlier, there)
        if length:
            if fresh < here:
                yield Stretch(fresh, here, None)
            yield Stretch(here, here + length, there)
            here, there = here + length, there + length
            fresh = here
        elif rows[here][NAME] > earlier[there][NAME]:
            there += 1
        else:
            there += rows[here][NAME] == earlier[there][NAME]
            here += 1
    if fresh < len(rows):
        yield Stretch(fresh, len(rows), None)


def _has_same_names(listing: Listing, earlier: Listing) -> bool:
    # Counting makes no blocks, which a first packaging needs but once.
    if len(listing) != len(earlier):
        return False
    return [block.names for block in listing.blocks] == [block.names for block in earlier.blocks]


def _by_number(listing: Listing, earlier: Listing) -> Iterator[Stretch]:
    """Compare listings of the same names in the same blocks, without making rows."""
    position = copied = 0
    changed: list[int] = []
    for one, other in zip(listing.blocks, earlier.blocks, strict=True):
        if one.looks != other.looks:
            looks = zip(_cut(one.looks), _cut(other.looks), strict=True)
            changed += (index for index, (now, then) in enumerate(looks, position) if now != then)
        position += one.row_count
    for start, stop in _runs(changed):
        if copied < start:
            yield Stretch(copied, start, copied)
        yield Stretch(start, stop, None)
        copied = stop
    if copied < position:
        yield Stretch(copied, position, copied)


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Put consecutive numbers together: where each run starts, and where it has ended."""
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield run[0], run[-1] + 1


def _cut(looks: bytes) -> Iterator[bytes]:
    return (looks[start : start + LOOK_BYTES] for start in range(0, len(looks), LOOK_BYTES))


def _common(rows: Sequence[Listed], here: int, earlier: Sequence[Listed], there: int) -> int:
    """Count the equal rows from two places on."""
    limit = min(len(rows) - here, len(earlier) - there)
    length, step = 0, 1
    while length < limit and step:
        stop = min(length + step, limit)
        if rows[here + length : here + stop] == earlier[there + length : there + stop]:
            length, step = stop, step * 2
        else:
            step //= 2
    return length
