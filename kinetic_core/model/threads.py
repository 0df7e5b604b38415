"""Threads that help the caller's own, which does the work itself where no more are to be had."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Threads(ThreadPoolExecutor):
    """An executor for which it is no failure that a thread cannot be started.

    A process may be at its limit; and once the main thread of an interpreter has ended, executors take nothing more,
    though other threads go on. What is submitted then is done before `submit` returns.

    >>> with Threads(2) as threads:
    ...     list(threads.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> "Future[R]":
        """Let a thread call the function, or call it here and now."""
        work = _Work(partial(fn, *args, **kwargs))
        try:
            super().submit(work.do)
        except RuntimeError:
            work.do()
        return work.future


class _Work:
    """A call that is made once: an executor may have taken it before it failed to start one more thread."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.future: Future[Any] = Future()
        self._call = call
        self._unclaimed = threading.Lock()

    def do(self) -> None:
        if not self._unclaimed.acquire(blocking=False) or not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self._call())
        except BaseException as error:  # noqa: BLE001 - raised again by who asks for the result
            self.future.set_exception(error)
