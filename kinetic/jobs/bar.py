"""How far a batch is, for a person: a live bar at a terminal, one line otherwise."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from kinetic import terminal
from kinetic_core.model.job import JobStatus

_EVERY_S: Final = 0.2


class Bar(Protocol):
    """Something that shows how many inputs stand how."""

    every_s: float | None
    """How often it wants to be told; `None` once, at the end."""

    def show(self, counts: Mapping[JobStatus, int], total: int | None) -> None:
        """Show it.

        Args:
            counts: How many inputs stand how.
            total: How many there will be; `None` where nobody knows yet.
        """


@contextmanager
def bar(group_id: str) -> Iterator[Bar]:
    """Show a batch on stderr: live where that is a terminal and `rich` is installed."""
    console = terminal.open_console()
    if console is not None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        counts, redirect = TextColumn("{task.fields[counts]}"), terminal.draws_stdout_too()
        with Progress(*columns, counts, console=console, redirect_stdout=redirect) as progress:
            yield _Live(progress, group_id)
        return
    line = _Line(group_id)
    yield line
    sys.stderr.write(line.text)


def counted(counts: Mapping[JobStatus, int]) -> str:
    """Return counts for a person, in the order in which states follow one another.

    >>> counted({JobStatus.FAILED: 1, JobStatus.SUCCEEDED: 9})
    '9 SUCCEEDED, 1 FAILED'
    """
    return ", ".join(f"{counts[status]} {status}" for status in JobStatus if counts.get(status)) or "no inputs"


class _Live:
    every_s: float | None = _EVERY_S

    def __init__(self, progress: Any, group_id: str) -> None:
        self._progress = progress
        self._task = progress.add_task(group_id, total=None, counts="")

    def show(self, counts: Mapping[JobStatus, int], total: int | None) -> None:
        ended = sum(count for status, count in counts.items() if status.is_terminal)
        self._progress.update(self._task, completed=ended, total=total, counts=counted(counts))


class _Line:
    every_s: float | None = None

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self.text = ""

    def show(self, counts: Mapping[JobStatus, int], total: int | None) -> None:
        ended = sum(count for status, count in counts.items() if status.is_terminal)
        of = f" of {total}" if total is not None else ""
        self.text = f"kinetic: {self._group_id}: {ended}{of} inputs have ended: {counted(counts)}\n"
