"""A second process that packs every other batch: small files keep one interpreter busier than its compressor."""

import os
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from kinetic_core.model.listing import MTIME_NS, Listed
from kinetic_core.packaging.deflate import LIBRARIES
from kinetic_core.packaging.packing import Packer, Piece
from kinetic_core.packaging.packserver import conditions_of, from_plain, receive, send

if TYPE_CHECKING:
    import subprocess

_SECOND: Final = 10**9
_AHEAD: Final = 2
"""Batches that the second process has, so that it need not wait for the next one."""
_MOST_KEPT: Final = 16
"""Batches that wait for one before them: what bounds the memory."""
_IMPORTS: Final = ("kinetic_core", *(library.module for library in LIBRARIES))
# Isolated, and without what the site adds: it starts in a moment, and nothing of the project's is ever imported.
_BOOT: Final = """\
import sys
sys.path += sys.argv[1:]
from kinetic_core.packaging.packserver import serve
serve(0, 1)
"""


class _Batch(NamedTuple):
    rows: Sequence[Listed]
    pieces: "Future[Sequence[Piece] | None] | Sequence[Piece]"

    @property
    def is_away(self) -> bool:
        """Whether the second process has it, and is not done with it."""
        return isinstance(self.pieces, Future) and not self.pieces.done()


class SecondPacker:
    """A packer and, beside it, a process that does the same; where there can be no process, the packer alone.

    Which of the two packs a batch makes no difference to the bytes.
    """

    def __init__(self, packer: Packer, python: str) -> None:
        """Start the process, if there can be one; this returns before it is ready.

        Args:
            packer: Packs what the process does not.
            python: The interpreter to start; empty for none.
        """
        self._packer = packer
        self._started = _started(python) if python else None
        self._process = self._started
        """While it answers."""
        self._away: list[Future[Sequence[Piece] | None]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kinetic-pack")

    def packed(self, batches: Iterable[Sequence[Listed]]) -> Iterator[Sequence[Piece]]:
        """Yield the pieces of each batch, in order; batches are taken a few ahead.

        Args:
            batches: Of small files and empty directories.
        """
        waiting: deque[_Batch] = deque()
        for rows in batches:
            waiting.append(_Batch(rows, self._given(rows) or self._packer.pack(rows)))
            while waiting and (not waiting[0].is_away or len(waiting) > _MOST_KEPT):
                yield self._pieces(waiting.popleft())
        while waiting:
            yield self._pieces(waiting.popleft())

    def _given(self, rows: Sequence[Listed]) -> "Future[Sequence[Piece] | None] | None":
        """Give a batch to the second process, if there is one and it has not enough to do."""
        self._away = [future for future in self._away if not future.done()]
        if self._process is None or len(self._away) >= _AHEAD:
            return None
        try:
            self._away.append(self._thread.submit(self._pack_there, self._process, rows))
        except RuntimeError:
            # This process has no room for one more thread, or is about to end.
            self._process = None
            return None
        return self._away[-1]

    def _pieces(self, batch: _Batch) -> Sequence[Piece]:
        if not isinstance(batch.pieces, Future):
            return batch.pieces
        # To do it again takes no longer than to wait for a process that may be starting, or not get its turn.
        pieces = None if batch.is_away else batch.pieces.result()
        return self._packer.pack(batch.rows) if pieces is None else pieces

    def _pack_there(self, process: "subprocess.Popen[bytes]", rows: Sequence[Listed]) -> Sequence[Piece] | None:
        """Return what the second process makes of a batch; `None` when it has ended, for whatever reason."""
        assert process.stdin is not None  # noqa: S101 - for the type checker: both are pipes
        assert process.stdout is not None  # noqa: S101 - the same
        base, codec, moments = self._packer
        local_times = {second: moments[second] for second in {row[MTIME_NS] // _SECOND for row in rows}}
        try:
            send(process.stdin.fileno(), (base, conditions_of(codec), rows, local_times))
            return from_plain(receive(process.stdout.fileno()), rows)
        except Exception:  # noqa: BLE001 - a program that is no interpreter may say anything, or nothing
            self._process = None
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._started is not None:
            # It only reads: there is nothing that it could leave half done.
            # All of its group: what was started may be a script that starts the interpreter.
            with suppress(OSError):
                os.killpg(self._started.pid, signal.SIGKILL)
            self._thread.shutdown(cancel_futures=True)
            with self._started:
                pass


def own_interpreter() -> str:
    """Return the path of this interpreter; nothing where what runs is a program of another name.

    >>> own_interpreter() == sys.executable
    True
    """
    return "" if getattr(sys, "frozen", False) else sys.executable or ""


def _started(python: str) -> "subprocess.Popen[bytes] | None":
    import subprocess  # few trees are so large

    try:
        return subprocess.Popen(
            [python, "-I", "-S", "-X", f"utf8={sys.flags.utf8_mode}", "-c", _BOOT, *_folders()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            # Who interrupts the client ends this by that.
            start_new_session=True,
        )
    except (OSError, ValueError):
        # There is no such program, or its name is none.
        return None


def _folders() -> list[str]:
    """Return the folders that hold what the process imports beside the standard library."""
    loaded = (sys.modules.get(name.partition(".")[0]) for name in _IMPORTS)
    files = (getattr(module, "__file__", None) for module in loaded)
    folders = {str(Path(file).parents[1]): None for file in files if file and Path(file).stem == "__init__"}
    return list(folders)
