"""An event loop that can be closed in a fork while it lives on in the parent."""

import asyncio
import os
import selectors
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class ForkableLoop(asyncio.SelectorEventLoop):
    """An event loop that watches nothing of its parent's once the process was forked, and keeps no idle threads."""

    def __init__(self) -> None:
        """Make it; it belongs to this process."""
        self._watched = _Watched()
        self._made_by = os.getpid()
        super().__init__(self._watched)
        # Names of hosts are looked up there.
        self.set_default_executor(_ThreadEach())

    def close(self) -> None:
        """Close it; in a fork, without a word to the kernel about what the parent still watches."""
        if os.getpid() != self._made_by:
            self._made_by = os.getpid()
            self._watched.forget()
        super().close()


class _Watched(selectors.DefaultSelector):
    def forget(self) -> None:
        """Watch nothing any more; another process that has the same list keeps it as it is."""
        self.close()
        super().__init__()


class _ThreadEach(ThreadPoolExecutor):
    """Starts a thread for each call, which ends with it: pools keep theirs, and a fork should find none."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Make the call in a thread of its own."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()

        def call() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
                future.set_exception(error)

        threading.Thread(target=call, name="kinetic-look-up", daemon=True).start()
        return future
