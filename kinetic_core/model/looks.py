"""What one look at a file tells, as bytes: nine numbers of eight bytes each.

It imports little, for the second process (see `kinetic_core.packaging.streams`).
"""

from __future__ import annotations

import os
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


def looks(base: bytes, names: bytes) -> bytes:
    r"""Look at each of some names, and return what is told of each; nothing where one of them tells nothing.

    Of a link it is what it leads to that counts.

    Args:
        base: The path of the root, with its slash.
        names: As in a block, with a zero byte between two.

    >>> len(looks(b"/", b"dev\0tmp")), looks(b"/", b"there is no such file")
    (144, b'')
    """
    paths = (base + names.replace(b"\0", b"\0" + base)).split(b"\0")
    numbers: list[int] = []
    append = numbers.append
    try:
        for status in map(os.stat, paths):
            numbers += status[:7]
            append(status.st_mtime_ns)
            append(status.st_ctime_ns)
        return packed(numbers)
    except (OSError, struct.error):
        return b""
