"""The entries of the context archive, as they are told of."""

from bisect import insort
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

import attrs

from kinetic_core.model.blocks import Listing
from kinetic_core.model.listing import MODE, NAME, SIZE, STATUS, Listed


@attrs.frozen(kw_only=True)
class ArchiveEntry:
    """One entry of the context archive."""

    name: str
    """`/`-separated, relative to the root; directories end in `/`."""
    size_bytes: int
    mode: int
    """POSIX permission bits, for example 0o644."""


class ArchiveEntries(Sequence[ArchiveEntry]):
    """The entries of an archive, each made when it is looked at.

    >>> entries = ArchiveEntries([("train.py", (0o100644, 1, 1, 1, 0, 0, 12), 0, 0)])
    >>> entries[0].name, entries[0].size_bytes, len(entries)
    ('train.py', 12, 1)
    """

    def __init__(self, rows: Sequence[Listed], *more: Listed) -> None:
        """Show rows as entries.

        Args:
            rows: Sorted by name; never changed afterwards.
            more: Others, to be shown among them.
        """
        self._listing = rows
        self._more = more

    @cached_property
    def _rows(self) -> Sequence[Listed]:
        rows = list(self._listing)
        for row in self._more:
            insort(rows, row)
        return rows

    @cached_property
    def names(self) -> Sequence[str]:
        """All names, without the entries being made."""
        listing = self._listing
        names = listing.names if isinstance(listing, Listing) else [row[NAME] for row in listing]
        for row in self._more:
            insort(names, row[NAME])
        return names

    def __len__(self) -> int:
        return len(self._listing) + len(self._more)

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
