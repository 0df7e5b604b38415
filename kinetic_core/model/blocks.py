"""Rows of a listing as bytes, some hundred together: read, compared and kept without a row being made."""

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import is_, itemgetter
from typing import Final, NamedTuple, overload

from kinetic_core.model.listing import NAME, SIZE, STATUS, Listed
from kinetic_core.model.looks import LOOK, LOOK_BYTES, NUMBERS, packed

BLOCK_ROWS: Final = 512
_LIMIT: Final = 1 << 63
_MTIME: Final = NUMBERS - 2
_ONE_LOOK: Final = struct.Struct(f"<{LOOK}")


class Block(NamedTuple):
    """Some hundred consecutive rows as bytes: a listing of them is read, compared and kept without making a row."""

    names: bytes
    """In UTF-8, with a zero byte between two."""
    looks: bytes
    """The numbers of each row, eight bytes each."""

    @property
    def row_count(self) -> int:
        """Count the rows."""
        return len(self.looks) // LOOK_BYTES

    @property
    def rows(self) -> Iterator[Listed]:
        """Make the rows."""
        names = _text(self.names).split("\0")
        for name, look in zip(names, _ONE_LOOK.iter_unpack(self.looks), strict=True):
            yield name, look[:7], look[7], look[8]

    def part(self, start: int, stop: int) -> "Block":
        """Return consecutive rows, at least one."""
        names = b"\0".join(self.names.split(b"\0")[start:stop])
        return Block(names, self.looks[start * LOOK_BYTES : stop * LOOK_BYTES])

    @classmethod
    def of(cls, rows: Sequence[Listed]) -> "Block":
        """Return rows as bytes.

        >>> row = ("a", (0o100644, 1, 1, 1, 0, 0, 12), 5, 6)
        >>> list(Block.of([row]).rows) == [row]
        True
        """
        names = "\0".join([row[NAME] for row in rows]).encode(errors="surrogatepass")
        numbers: list[int] = []
        for _, status, mtime_ns, ctime_ns in rows:
            numbers += status
            numbers.append(mtime_ns)
            numbers.append(ctime_ns)
        try:
            return cls(names, packed(numbers))
        except struct.error:
            # Times far from now, which anybody can set; that of any change, which nobody can, tells of every change.
            numbers[_MTIME::NUMBERS] = [min(max(time, -_LIMIT), _LIMIT - 1) for time in numbers[_MTIME::NUMBERS]]
            return cls(names, packed(numbers))


class Listing(Sequence[Listed]):
    """Rows sorted by name, kept as rows or as blocks, whichever there were; the other is made when it is asked for.

    >>> row = ("a", (0o100644, 1, 1, 1, 0, 0, 12), 5, 6)
    >>> listing = Listing([row])
    >>> Listing.of_blocks(listing.blocks) == listing, listing.names
    (True, ['a'])
    """

    def __init__(self, rows: Iterable[Listed] = ()) -> None:
        """Keep rows.

        Args:
            rows: Sorted by name.
        """
        self._rows: tuple[Listed, ...] | None = tuple(rows)
        self._blocks: tuple[Block, ...] | None = None

    @classmethod
    def of_blocks(cls, blocks: Iterable[Block]) -> "Listing":
        """Keep blocks, small ones put together."""
        listing, merged = cls(), list[Block]()
        for block in blocks:
            if merged and len(merged[-1].looks) + len(block.looks) <= BLOCK_ROWS * LOOK_BYTES:
                merged[-1] = Block(b"\0".join((merged[-1].names, block.names)), merged[-1].looks + block.looks)
            else:
                merged.append(block)
        listing._rows, listing._blocks = None, tuple(merged)
        return listing

    @property
    def rows(self) -> tuple[Listed, ...]:
        """Return all rows."""
        if self._rows is None:
            self._rows = tuple(chain.from_iterable(block.rows for block in self.blocks))
        return self._rows

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return all rows as bytes."""
        if self._blocks is None:
            rows = self.rows
            self._blocks = tuple(
                Block.of(rows[start : start + BLOCK_ROWS]) for start in range(0, len(rows), BLOCK_ROWS)
            )
        return self._blocks

    @property
    def names(self) -> list[str]:
        """Return all names, without making rows."""
        if self._rows is not None:
            return [row[NAME] for row in self._rows]
        return _text(b"\0".join(block.names for block in self.blocks)).split("\0") if self.blocks else []

    @property
    def size_bytes(self) -> int:
        """Add up the sizes of the files, without making rows."""
        return sum(map(_size_bytes, self.blocks if self._rows is None else (self._rows,)))

    def bytes_in_long(self, least: int) -> int:
        """Add up the sizes of so many bytes or more, without making rows."""
        if self._rows is not None:
            return sum(row[STATUS][SIZE] for row in self._rows if row[STATUS][SIZE] >= least)
        sizes = chain.from_iterable(array("q", block.looks)[SIZE::NUMBERS] for block in self.blocks)
        return sum(size for size in sizes if size >= least)

    def part(self, start: int, stop: int) -> "Listing":
        """Return consecutive rows, without making others."""
        if self._rows is not None:
            return Listing(self._rows[start:stop])
        blocks, position = [], 0
        for block in self.blocks:
            count = block.row_count
            begin, end = max(start - position, 0), min(stop - position, count)
            if begin < end:
                blocks.append(block if end - begin == count else block.part(begin, end))
            position += count
        return Listing.of_blocks(blocks)

    def replaced(self, rows: Mapping[int, Listed]) -> "Listing":
        """Return the listing with other rows of the same names in some places."""
        if not rows:
            return self
        blocks, position = [], 0
        for block in self.blocks:
            stop = position + block.row_count
            if any(index in rows for index in range(position, stop)):
                block = Block.of([rows.get(index, row) for index, row in enumerate(block.rows, position)])  # noqa: PLW2901  the block as it is now
            blocks.append(block)
            position = stop
        return Listing.of_blocks(blocks)

    def seen_again(self, told: Iterable[bytes], counts: Callable[[Block], bool]) -> "Listing | None":
        """Return the listing as another look at its names tells it, with the very blocks that are unchanged.

        Args:
            told: Of each block, as `looks` returns it.
            counts: Tells whether what a block with a change is now belongs into the listing as it stands.

        Returns:
            `None` where that cannot be told, or a block does not count.
        """
        blocks = []
        for block, now in zip(self.blocks, told, strict=True):
            blocks.append(block if now == block.looks else Block(block.names, now))
            if not now or (blocks[-1] is not block and not counts(blocks[-1])):
                return None
        return self if all(map(is_, blocks, self.blocks)) else Listing.of_blocks(blocks)

    def named(self, name: str) -> Listed | None:
        """Return the row of a name, without making many."""
        if self._rows is None:
            # The order of names is that of their bytes.
            after = bisect_right(self.blocks, name.encode(errors="surrogatepass"), key=_first_name)
            rows: Sequence[Listed] = tuple(self.blocks[after - 1].rows) if after else ()
        else:
            rows = self._rows
        index = bisect_left(rows, name, key=itemgetter(NAME))
        return rows[index] if index < len(rows) and rows[index][NAME] == name else None

    def __len__(self) -> int:
        if self._rows is not None:
            return len(self._rows)
        return sum(block.row_count for block in self.blocks)

    @overload
    def __getitem__(self, index: int) -> Listed: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Listed]: ...
    def __getitem__(self, index: int | slice) -> Listed | Sequence[Listed]:
        if self._rows is None and isinstance(index, int) and 0 <= index < len(self):
            (row,) = self.part(index, index + 1).rows
            return row
        return self.rows[index]

    def __iter__(self) -> Iterator[Listed]:
        return iter(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Listing):
            return NotImplemented
        return self.blocks == other.blocks or _together(self.blocks) == _together(other.blocks)

    def __hash__(self) -> int:
        return hash(_together(self.blocks))

    def __repr__(self) -> str:
        return f"<listing of {len(self)}>"


def _first_name(block: Block) -> bytes:
    return block.names[: block.names.find(b"\0")] if block.row_count > 1 else block.names


def _size_bytes(rows: Block | Iterable[Listed]) -> int:
    if isinstance(rows, Block):
        if b"/\0" not in rows.names and not rows.names.endswith(b"/"):
            return sum(array("q", rows.looks)[SIZE::NUMBERS])
        rows = rows.rows
    return sum(row[STATUS][SIZE] for row in rows if not row[NAME].endswith("/"))


def _together(blocks: Iterable[Block]) -> tuple[bytes, bytes]:
    """Return all names and all numbers: listings that were cut in other places are equal all the same."""
    return b"\0".join(block.names for block in blocks), b"".join(block.looks for block in blocks)


def _text(names: bytes) -> str:
    return names.decode(errors="surrogatepass")
