"""What one look at a file tells, as bytes: nine numbers of eight bytes each.

It imports little, for the second process (see `kinetic_core.packaging.streams`).
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

NUMBERS: Final = 9
"""So many a row: seven of the status, and two times."""
LOOK_BYTES: Final = 8 * NUMBERS
LOOK: Final = "qQQ6q"
"""Mode, inode and device, which some file systems count up to 64 bits, and what may be negative."""


def packed(numbers: Sequence[int]) -> bytes:
    """Return the numbers of rows as they are kept in a block.

    Raises:
        struct.error: One takes more than 64 bits.

    >>> len(packed([0] * NUMBERS)) == LOOK_BYTES
    True
    """
    return struct.pack(f"<{LOOK * (len(numbers) // NUMBERS)}", *numbers)
