"""Doing a few things side by side, with no thread left behind."""

import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

_WIDTH: Final = 8


def side_by_side(calls: Sequence[Callable[[], T]], *, width: int = _WIDTH) -> list[T]:
    """Make the calls in at most `width` threads and return their values in order.

    All threads have ended when this returns, so that a function that forks later inherits none.

    Args:
        calls: What to call; a single one is called in this thread.
        width: How many run at once.

    Raises:
        BaseException: What the first call that failed, in their order, raised; calls not begun are then left out.

    >>> side_by_side([lambda: 1, lambda: 2])
    [1, 2]
    """
    if len(calls) < 2:  # noqa: PLR2004 - one thing has no side
        return [call() for call in calls]
    values: dict[int, T] = {}
    errors: dict[int, BaseException] = {}
    waiting = iter(enumerate(calls))
    lock = threading.Lock()

    def work() -> None:
        while not errors:
            with lock:
                index, call = next(waiting, (-1, None))
            if call is None:
                return
            try:
                values[index] = call()
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
                errors[index] = error

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(width, len(calls)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [values[index] for index in range(len(calls))]
