"""The entries of the context archive, as they are told of."""

from collections.abc import Iterator, Sequence
from typing import overload

import attrs

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
