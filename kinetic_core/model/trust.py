"""Which rows of a listing will still tell, later, whether a file changed."""

import marshal
from collections.abc import Iterable
from typing import Final

from kinetic_core.model.listing import CTIME_NS, MTIME_NS, NAME, STATUS, Listed

RACY_NS: Final = 2 * 10**9
"""What changed less than so long before a scan may change once more without a sign: no clock is finer everywhere."""
# Version 2 writes the same bytes for equal values; later ones count references.
_MARSHAL: Final = 2
_UNTRUSTED: Final = -1


def marshalled(rows: tuple[Listed, ...]) -> bytes:
    """Return rows as they are kept: equal ones give the same bytes."""
    return marshal.dumps(rows, _MARSHAL)


def distrust(row: Listed) -> Listed:
    """Return a row that equals no row of any scan.

    >>> distrust(("a", (), 5, 6))
    ('a', (), 5, -1)
    """
    return row[NAME], row[STATUS], row[MTIME_NS], _UNTRUSTED


def is_trusted(row: Listed) -> bool:
    """Tell whether a row is as a scan made it.

    >>> is_trusted(("a", (), 5, 6)), is_trusted(distrust(("a", (), 5, 6)))
    (True, False)
    """
    return row[CTIME_NS] != _UNTRUSTED


def distrust_racy(rows: Iterable[Listed], started_ns: int) -> tuple[Listed, ...]:
    """Return the rows, those distrusted that changed so late that the scan may not have seen the last change.

    It is git's rule for its index, with a margin for file systems that count in whole seconds.

    >>> distrust_racy([("a", (), 5, 6)], started_ns=7)
    (('a', (), 5, -1),)
    """
    limit = started_ns - RACY_NS
    return tuple(row if row[CTIME_NS] < limit and row[MTIME_NS] < limit else distrust(row) for row in rows)
