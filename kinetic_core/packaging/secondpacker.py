"""A second process that packs every other batch: small files keep one interpreter busier than its compressor."""

import contextlib
import fcntl
import marshal
import os
import select
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from kinetic_core.model.listing import MTIME_NS, Listed
from kinetic_core.packaging.packing import Packer, Piece, from_plain
from kinetic_core.packaging.packserver import LENGTH_BYTES, conditions_of, length_of, message
from kinetic_core.packaging.secondprocess import SecondProcess

if TYPE_CHECKING:
    import subprocess

_SECOND: Final = 10**9
_AHEAD: Final = 3
"""Batches that the second process has, so that it need not wait for the next one."""
_MOST_KEPT: Final = 32
"""Batches that wait for one before them: what bounds the memory."""
_PIPE_BYTES: Final = 1 << 20
"""Room for what the process packs while the client is busy with a batch."""
_PATIENCE_MS: Final = 2
"""A batch takes about as long: to wait longer is no better than to pack it again."""


class _Batch:
    """A batch on its way: it has pieces, or the second process has it."""

    def __init__(self, rows: Sequence[Listed]) -> None:
        self.rows = rows
        self.pieces: Sequence[Piece] | None = None


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
        self._other: _Other | None = None
        if process is not None:
            process.start()
            self._other = None if process.running is None else _Other(process.running, packer)

    def packed(self, batches: Iterable[Sequence[Listed]]) -> Iterator[Sequence[Piece]]:
        """Yield the pieces of each batch, in order; batches are taken a few ahead.

        Args:
            batches: Of small files and empty directories.
        """
        if self._other is None:
            yield from map(self._packer.pack, batches)
            return
        waiting: deque[_Batch] = deque()
        for rows in batches:
            batch = _Batch(rows)
            waiting.append(batch)
            if not self._other.takes(batch):
                batch.pieces = self._packer.pack(rows)
            self._other.look()
            yield from _done(waiting)
            if len(waiting) > _MOST_KEPT:
                self._pack(waiting[0])
        yield from _done(waiting)
        while waiting:
            self._pack_last(waiting)
            yield from _done(waiting)

    def _pack_last(self, waiting: Sequence[_Batch]) -> None:
        """Do what the process is the last to come to, or wait for a moment where that is what it is doing."""
        assert self._other is not None  # noqa: S101 - for the type checker: there are batches on their way
        away = [batch for batch in waiting if batch.pieces is None]
        if len(away) > 1 or not self._other.look(_PATIENCE_MS):
            self._pack(away[-1])
        self._other.look()

    def _pack(self, batch: _Batch) -> None:
        # To do it again takes no longer than to wait for a process that may be starting, or not get its turn.
        batch.pieces = self._packer.pack(batch.rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.end()


def _done(waiting: deque[_Batch]) -> Iterator[Sequence[Piece]]:
    while waiting and (pieces := waiting[0].pieces) is not None:
        waiting.popleft()
        yield pieces


class _Other:
    """What is said to the process and what it answers, as far as it is under way."""

    def __init__(self, process: "subprocess.Popen[bytes]", packer: Packer) -> None:
        assert process.stdin is not None  # noqa: S101 - for the type checker: both are pipes
        assert process.stdout is not None  # noqa: S101 - the same
        self._asking, self._answers = process.stdin.fileno(), process.stdout.fileno()
        for pipe in (self._asking, self._answers):
            os.set_blocking(pipe, False)
            with contextlib.suppress(OSError, AttributeError):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._moments = packer.moments
        self._told: set[int] = set()
        """Seconds whose local time the process knows."""
        self._away: deque[_Batch] = deque()
        """In the order of the answers; some may have been packed here meanwhile."""
        self._unsent = message((packer.base, tuple(packer.codec.library), conditions_of(packer.codec.name)))
        self._received = bytearray()
        self._answers_still = True

    @property
    def is_busy(self) -> bool:
        """Tell whether there is something that it has not answered."""
        return self._answers_still and bool(self._away)

    def takes(self, batch: _Batch) -> bool:
        """Give it a batch, if it has not enough to do."""
        if not self._answers_still or len(self._away) >= _AHEAD:
            return False
        seconds = {row[MTIME_NS] // _SECOND for row in batch.rows} - self._told
        self._told |= seconds
        self._unsent += message((batch.rows, {second: self._moments[second] for second in seconds}))
        self._away.append(batch)
        self._write()
        return True

    def look(self, patience_ms: int = 0) -> bool:
        """Take what it has answered; tell whether there was something, which its end is too.

        Args:
            patience_ms: How long to wait for an answer.
        """
        if not self._answers_still:
            return False
        if patience_ms:
            ready = select.poll()
            ready.register(self._answers, select.POLLIN)
            ready.poll(patience_ms)
        self._write()
        return self._read()

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # full, or gone, which reading tells
            while self._unsent:
                self._unsent = self._unsent[os.write(self._asking, self._unsent) :]

    def _read(self) -> bool:
        count = len(self._away)
        try:
            while data := os.read(self._answers, _PIPE_BYTES):
                self._received += data
                self._take_answers()
            self._answers_still = False
        except BlockingIOError:
            pass
        except Exception:  # noqa: BLE001 - a program that is no interpreter may say anything
            self._answers_still = False
        return len(self._away) < count or not self._answers_still

    def _take_answers(self) -> None:
        while len(self._received) >= LENGTH_BYTES:
            stop = LENGTH_BYTES + length_of(self._received)
            if len(self._received) < stop:
                return
            plain: Any = marshal.loads(memoryview(self._received)[LENGTH_BYTES:stop])  # noqa: S302 - by the same code
            del self._received[:stop]
            batch = self._away.popleft()
            if batch.pieces is None:
                batch.pieces = from_plain(plain, batch.rows)
