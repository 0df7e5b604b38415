"""Work that two processes share, the client and one beside it: which of them did what makes no difference."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic, Protocol, TypeVar

from kinetic_core.packaging.exchange import Exchange

_MOST_KEPT: Final = 32
"""Results that wait for one before them: what bounds the memory."""
_PATIENCE_MS: Final = 2
"""A task takes about as long: to wait longer is no better than to do it again."""

Task = TypeVar("Task")
Result = TypeVar("Result")
Task_contra = TypeVar("Task_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Work(Protocol[Task_contra, Result_co]):
    """What is to be done with each task, by whichever process."""

    def here(self, task: Task_contra, /) -> Result_co:
        """Do it in this process."""

    def question(self, task: Task_contra, /) -> Any:
        """Return what the process beside is asked, as a plain value."""

    def answered(self, task: Task_contra, answer: Any, /) -> Result_co:
        """Make the result of an answer.

        Raises:
            Exception: It is none: the process is no such process, and is not asked again.
        """


class _Errand(Generic[Task, Result]):
    """A task on its way: it has a result, or the process beside has it."""

    def __init__(self, task: Task, work: Work[Task, Result]) -> None:
        self.result: Result | None = None
        self._task, self._work = task, work

    def ask(self, exchange: Exchange) -> None:
        exchange.ask(self._work.question(self._task), self._take)

    def do(self) -> None:
        # To do it again takes no longer than to wait for a process that may be starting, or not get its turn.
        self.result = self._work.here(self._task)

    def _take(self, answer: Any) -> None:
        if self.result is None:
            self.result = self._work.answered(self._task, answer)


def in_tandem(tasks: Iterable[Task], work: Work[Task, Result], exchange: Exchange | None) -> Iterator[Result]:
    """Yield the result of each task, in order; tasks are taken a few ahead.

    Args:
        tasks: Of two milliseconds or so.
        work: What is done with them; no result is `None`.
        exchange: With the process beside; where there is none, this process does it all.
    """
    if exchange is None:
        yield from map(work.here, tasks)
        return
    waiting: deque[_Errand[Any, Result]] = deque()
    for task in tasks:
        errand = _Errand(task, work)
        waiting.append(errand)
        if exchange.has_room:
            errand.ask(exchange)
        else:
            errand.do()
        exchange.look()
        yield from _done(waiting)
        if len(waiting) > _MOST_KEPT:
            waiting[0].do()
    yield from _done(waiting)
    while waiting:
        _do_last(waiting, exchange)
        yield from _done(waiting)


def _do_last(waiting: Iterable[_Errand[Any, Any]], exchange: Exchange) -> None:
    """Do what the process is the last to come to, or wait for a moment where that is what it is doing."""
    away = [errand for errand in waiting if errand.result is None]
    if len(away) > 1 or not exchange.look(_PATIENCE_MS):
        away[-1].do()
    exchange.look()


def _done(waiting: deque[_Errand[Any, Result]]) -> Iterator[Result]:
    while waiting and (result := waiting[0].result) is not None:
        waiting.popleft()
        yield result
