"""The logs of all hosts of a job as one text, each line with its host."""

from collections.abc import Callable, Iterator
from pathlib import Path

from kinetic_local.logfile import LogReader


def read_host_logs(
    paths: Callable[[], list[Path]],
    *,
    tail: int | None,
    ended: Callable[[], bool],
    pause: Callable[[], None] | None,
) -> Iterator[str]:
    """Yield whole lines of all hosts, each behind `[host N]`.

    Args:
        paths: Returns the logs by host; there may be more of them when the job has started.
        tail: Begin with only so many last lines of each.
        ended: Tells whether nothing more will be written; asked before each read.
        pause: Waits a moment for more; `None` to stop at what is there now.
    """
    hosts: list[_Host] = []
    try:
        while True:
            last = ended() or pause is None
            hosts += [_Host(number, path, tail) for number, path in enumerate(paths())][len(hosts) :]
            for host in hosts:
                yield from host.lines()
            if last or pause is None:
                break
            pause()
    finally:
        for host in hosts:
            host.reader.close()
    for host in hosts:
        yield from host.unfinished()


class _Host:
    def __init__(self, number: int, path: Path, tail: int | None) -> None:
        self.reader = LogReader(path, tail=tail)
        self._mark = f"[host {number}] "
        self._begun = ""

    def lines(self) -> Iterator[str]:
        """Yield the lines that were finished since."""
        for text in self.reader.read():
            *lines, self._begun = (self._begun + text).split("\n")
            yield "".join(f"{self._mark}{line}\n" for line in lines)

    def unfinished(self) -> Iterator[str]:
        """Yield a last line that nobody finished."""
        if begun := self._begun + self.reader.rest():
            yield f"{self._mark}{begun}\n"
