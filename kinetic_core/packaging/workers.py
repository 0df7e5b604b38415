"""Work on other threads, in order: compression releases the interpreter's lock."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from kinetic_core.model.threads import Threads

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")
_AHEAD: Final = 2
"""Pieces that may be ready or waiting for each thread: what bounds the memory."""


class Workers:
    """Some threads, started when they are first needed; with fewer than two, the caller's own.

    >>> with Workers(2) as workers:
    ...     list(workers.ordered(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, count: int) -> None:
        """Use up to so many threads."""
        self._count = count
        self._executor: Threads | None = None

    def ordered(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield the function's results in the order of the items, which are taken a few ahead."""
        if self._count < 2:  # noqa: PLR2004  one thread is the caller's
            yield from map(function, items)
            return
        if self._executor is None:
            self._executor = Threads(self._count, thread_name_prefix="kinetic-pack")
        running: deque[Future[R]] = deque()
        for item in items:
            running.append(self._executor.submit(function, item))
            if len(running) > self._count * _AHEAD:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
