"""A listing of what ships, in the plainest form there is: trees have 100,000 files, and most are never looked at."""

import os
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


def listed(name: str, status: os.stat_result) -> Listed:
    """Return the row of a file or directory.

    >>> listed("/", os.stat("/"))[NAME]
    '/'
    """
    return name, status[:7], status.st_mtime_ns, status.st_ctime_ns
