"""A listing of what ships, in the plainest form there is: trees have 100,000 files, and most are never looked at."""

import os
from collections.abc import Iterator, Sequence
from typing import Final, overload

from kinetic_core.model.entry import ArchiveEntry

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


class ArchiveEntries(Sequence[ArchiveEntry]):
    """The entries of an archive, each made when it is looked at.

    >>> entries = ArchiveEntries([("train.py", (0o100644, 1, 1, 1, 0, 0, 12), 0, 0)])
    >>> entries[0].name, entries[0].size_bytes, len(entries)
    ('train.py', 12, 1)
    """

    def __init__(self, rows: Sequence[Listed]) -> None:
        """Show rows as entries.

        Args:
            rows: Sorted by name; never changed afterwards.
        """
        self._rows = rows

    @property
    def names(self) -> list[str]:
        """Return all names, without making the entries."""
        return [row[NAME] for row in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> ArchiveEntry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ArchiveEntry]: ...
    def __getitem__(self, index: int | slice) -> ArchiveEntry | Sequence[ArchiveEntry]:
        return ArchiveEntries(self._rows[index]) if isinstance(index, slice) else _entry(self._rows[index])

    def __iter__(self) -> Iterator[ArchiveEntry]:
        return map(_entry, self._rows)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, ArchiveEntries | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self)} archive entries>"


def _entry(row: Listed) -> ArchiveEntry:
    is_dir = row[NAME].endswith("/")
    status = row[STATUS]
    return ArchiveEntry(name=row[NAME], size_bytes=0 if is_dir else status[SIZE], mode=status[MODE] & 0o7777)
