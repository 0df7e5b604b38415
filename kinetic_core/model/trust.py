"""Which rows of a listing will still tell, later, whether a file changed."""

from array import array
from collections.abc import Iterable, Iterator
from operator import is_
from typing import Final

from kinetic_core.model.blocks import Block, Listing
from kinetic_core.model.listing import CTIME_NS, MTIME_NS, NAME, STATUS, Listed
from kinetic_core.model.looks import NUMBERS

RACY_NS: Final = 2 * 10**9
"""What changed less than so long before a scan may change once more without a sign: no clock is finer everywhere."""
_UNTRUSTED: Final = -1
_UNTRUSTED_BYTES: Final = b"\xff" * 8


def distrust(row: Listed) -> Listed:
    """Return a row that equals no row of any scan.

    >>> distrust(("a", (), 5, 6))
    ('a', (), 5, -1)
    """
    return row[NAME], row[STATUS], row[MTIME_NS], _UNTRUSTED


def distrust_racy(rows: Iterable[Listed], started_ns: int) -> tuple[Listed, ...]:
    """Return the rows, those distrusted that changed so late that the scan may not have seen the last change.

    It is git's rule for its index, with a margin for file systems that count in whole seconds.

    >>> distrust_racy([("a", (), 5, 6)], started_ns=7)
    (('a', (), 5, -1),)
    """
    limit = started_ns - RACY_NS
    return tuple(row if row[CTIME_NS] < limit and row[MTIME_NS] < limit else distrust(row) for row in rows)


def trusted(listing: Listing, started_ns: int) -> Listing:
    """Return a listing whose rows are distrusted by the same rule.

    >>> trusted(Listing([("a", (0,) * 7, 5, 6)]), started_ns=7).rows
    (('a', (0, 0, 0, 0, 0, 0, 0), 5, -1),)
    """
    limit = started_ns - RACY_NS
    blocks = [block if _latest(block) < limit else _distrusted(block, started_ns) for block in listing.blocks]
    return listing if all(map(is_, blocks, listing.blocks)) else Listing.of_blocks(blocks)


def _latest(block: Block) -> int:
    numbers = array("q", block.looks)
    return max(map(max, (numbers[NUMBERS - 2 :: NUMBERS], numbers[NUMBERS - 1 :: NUMBERS])))


def _distrusted(block: Block, started_ns: int) -> Block:
    return Block.of(distrust_racy(block.rows, started_ns))


def untrusted(listing: Listing) -> Iterator[int]:
    """Yield the numbers of the rows that are distrusted.

    >>> list(untrusted(Listing([("a", (0,) * 7, 5, 6), distrust(("b", (0,) * 7, 5, 6))])))
    [1]
    """
    position = 0
    for block in listing.blocks:
        if _UNTRUSTED_BYTES in block.looks:
            times = array("q", block.looks)[NUMBERS - 1 :: NUMBERS]
            yield from (position + index for index, time in enumerate(times) if time == _UNTRUSTED)
        position += block.row_count
