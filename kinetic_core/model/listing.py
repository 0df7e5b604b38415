"""A listing of what ships, in the plainest form there is: trees have 100,000 files, and most are never looked at."""

from __future__ import annotations

import os

# The second process that packs does not wait for `typing` (see `kinetic_core.packaging.streams`).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

Listed = tuple[str, tuple[int, ...], int, int]
"""Name (`/`-separated; directories end in `/`), the first seven of `os.stat_result` (mode, inode, device, links,
owner, group, size), and the times of change of content and of anything, in nanoseconds.

A bare tuple, not a record: a list of them is made, compared and marshalled at the speed of C.
"""

NAME: Final = 0
STATUS: Final = 1
MTIME_NS: Final = 2
CTIME_NS: Final = 3
MODE: Final = 0
INODE: Final = 1
DEVICE: Final = 2
SIZE: Final = 6


def utf8_name(name: str) -> str | None:
    """Return a name that the file system gave as what it is in UTF-8, whatever encoding this process has for names.

    `None` where it is no UTF-8.

    >>> utf8_name("naïve.txt")
    'naïve.txt'
    """
    if name.isascii():
        return name
    try:
        return os.fsencode(name).decode()
    except UnicodeDecodeError:
        return None


def path_of(base: str, name: str) -> str:
    """Return the path of a name in a listing.

    Args:
        base: The path of what the listing is of, with its slash, as this process spells it.
        name: As in the listing.
    """
    return base + name if name.isascii() else base + os.fsdecode(name.encode())


def listed(name: str, status: os.stat_result) -> Listed:
    """Return the row of a file or directory.

    >>> listed("/", os.stat("/"))[NAME]
    '/'
    """
    return name, status[:7], status.st_mtime_ns, status.st_ctime_ns
