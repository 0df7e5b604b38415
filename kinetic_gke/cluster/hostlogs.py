"""The logs of all hosts of a job as one text: whole lines, each behind its host."""

import queue
import threading
from collections.abc import Iterator, Mapping


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


def _marked(mark: str, pieces: Iterator[str]) -> Iterator[str]:
    begun = ""
    for piece in pieces:
        *lines, begun = (begun + piece).split("\n")
        for line in lines:
            yield f"{mark}{line}\n"
    if begun:
        yield f"{mark}{begun}\n"
