"""The logs of all hosts of a job as one text: whole lines, each behind its host."""

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

_AT_ONCE: Final = 6
"""Logs of one host that are read at once; ten hosts may be read beside one another, over one client's connections."""


def one_by_one(logs: Mapping[str, Iterator[str]]) -> Iterator[str]:
    r"""Yield the lines of one log after the other.

    Args:
        logs: By what stands before each line.

    >>> list(one_by_one({"[host 0] ": iter(["a\nb", "c"]), "[host 1] ": iter(["d\n"])}))
    ['[host 0] a\n', '[host 0] bc\n', '[host 1] d\n']
    """
    for mark, pieces in logs.items():
        yield from _marked(mark, pieces)


def side_by_side(logs: Mapping[str, Iterator[str]]) -> Iterator[str]:
    """Yield the lines of all logs as they come.

    Args:
        logs: By what stands before each line.
    """
    came: queue.SimpleQueue[str | BaseException | None] = queue.SimpleQueue()

    def read(mark: str, pieces: Iterator[str]) -> None:
        try:
            for line in _marked(mark, pieces):
                came.put(line)
        except Exception as error:  # noqa: BLE001 - raised where the lines are read
            came.put(error)
        else:
            came.put(None)

    # Daemon: who stops reading would otherwise wait for the end of the job.
    for mark, pieces in logs.items():
        threading.Thread(target=read, args=(mark, pieces), daemon=True).start()
    left = len(logs)
    while left:
        line = came.get()
        if isinstance(line, BaseException):
            raise line
        if line is None:
            left -= 1
        else:
            yield line


def ahead(logs: Sequence[Iterator[str]]) -> Iterator[Iterator[str]]:
    """Yield the same logs, in the same order, read side by side before they are asked for.

    Args:
        logs: Short ones: all of them stay in memory.

    >>> [list(log) for log in ahead([iter(["a", "b"]), iter([]), iter(["c"])])]
    [['a', 'b'], [], ['c']]
    """
    if len(logs) < 2:  # noqa: PLR2004 - beside what?
        yield from logs
        return
    came: list[queue.SimpleQueue[str | BaseException | None]] = [queue.SimpleQueue() for _ in logs]
    left = iter(list(zip(logs, came, strict=True)))
    lock = threading.Lock()

    def read() -> None:
        while True:
            with lock:
                taken = next(left, None)
            if taken is None:
                return
            pieces, into = taken
            try:
                for piece in pieces:
                    into.put(piece)
            except Exception as error:  # noqa: BLE001 - raised where the log is read
                into.put(error)
            else:
                into.put(None)

    # Daemon, as above.
    for _ in range(min(len(logs), _AT_ONCE)):
        threading.Thread(target=read, daemon=True).start()
    for each in came:
        yield _drained(each)


def _drained(came: "queue.SimpleQueue[str | BaseException | None]") -> Iterator[str]:
    while (piece := came.get()) is not None:
        if isinstance(piece, BaseException):
            raise piece
        yield piece


def _marked(mark: str, pieces: Iterator[str]) -> Iterator[str]:
    begun = ""
    for piece in pieces:
        *lines, begun = (begun + piece).split("\n")
        for line in lines:
            yield f"{mark}{line}\n"
    if begun:
        yield f"{mark}{begun}\n"
