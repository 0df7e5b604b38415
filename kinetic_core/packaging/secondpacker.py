"""A second process that packs every other batch: small files keep one interpreter busier than its compressor."""

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from kinetic_core.model.listing import MTIME_NS, Listed
from kinetic_core.packaging.packing import Packer, Piece, from_plain
from kinetic_core.packaging.packserver import CONDITIONS, PACK, conditions_of
from kinetic_core.packaging.secondprocess import SecondProcess
from kinetic_core.packaging.tandem import in_tandem

if TYPE_CHECKING:
    from kinetic_core.packaging.exchange import Exchange

_SECOND: Final = 10**9


class SecondPacker:
    """A packer and, beside it, a process that does the same; where there can be no process, the packer alone.

    Which of the two packs a batch makes no difference to the bytes.
    """

    def __init__(self, packer: Packer, process: SecondProcess | None) -> None:
        """Start the process, unless it was started ahead or cannot be; this returns before it is ready.

        Args:
            packer: Packs what the process does not.
            process: Ended with the last batch; `None` for none.
        """
        self._packer = packer
        self._process = process
        self._exchange: Exchange | None = None if process is None else process.start()
        self._told: set[int] = set()
        """Seconds whose local time the process knows."""
        if self._exchange is not None:
            conditions = conditions_of(packer.codec.name)
            self._exchange.tell((CONDITIONS, packer.base, tuple(packer.codec.library), conditions))

    def packed(self, batches: Iterable[Sequence[Listed]]) -> Iterator[Sequence[Piece]]:
        """Yield the pieces of each batch, in order; batches are taken a few ahead.

        Args:
            batches: Of small files and empty directories.
        """
        return in_tandem(batches, self, self._exchange)

    def here(self, rows: Sequence[Listed]) -> Sequence[Piece]:
        """Pack a batch in this process."""
        return self._packer.pack(rows)

    def question(self, rows: Sequence[Listed]) -> Any:
        """Return what the process is asked to pack, with local times that it does not know yet."""
        seconds = {row[MTIME_NS] // _SECOND for row in rows} - self._told
        self._told |= seconds
        return PACK, rows, {second: self._packer.moments[second] for second in seconds}

    def answered(self, rows: Sequence[Listed], answer: Any) -> Sequence[Piece]:
        """Return the pieces that the process packed."""
        return from_plain(answer, rows)

    def finish(self) -> None:
        """Know that no batch comes any more: the process takes a moment to end, beside what is left to do."""
        if self._process is not None:
            self._process.dismiss()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.end()
