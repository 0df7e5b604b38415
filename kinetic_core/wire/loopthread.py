"""An event loop in a thread of its own, which forks of the process do no harm to, nor it to them.

A fork has one thread only: that of a loop is gone in it, and whoever waits for the loop would wait for ever. Worse,
it shares with its parent the kernel's list of what the loop watches: closing a connection there takes the parent's
off the list. So the thread is stopped before each fork and goes on after it, in the parent; a fork lets go of what it
inherited, without a word to anybody, and begins anew.
"""

import os
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

_MOST_LOOKS: Final = 200
_LOOK_S: Final = 0.0005


class LoopThread:
    """Runs an event loop in the background, from its first use on to the end of the process.

    >>> thread = LoopThread("example")
    >>> thread.loop is thread.loop
    True
    """

    def __init__(self, name: str) -> None:
        """Take the thread's name. It is kept for as long as the process lives: one of these is enough for each use."""
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_registered = False

    @property
    def loop(self) -> "asyncio.AbstractEventLoop":
        """The loop, which runs."""
        with self._lock:
            if self._loop is None:
                # Late: who needs no loop should not pay for it.
                from kinetic_core.wire.forkableloop import ForkableLoop

                self._loop = ForkableLoop()
                self._start()
                if not self._is_registered:
                    # After the modules that closing a loop needs: what they do in a fork comes before this then.
                    os.register_at_fork(before=self._pause, after_in_parent=self._go_on, after_in_child=self._forget)
                    self._is_registered = True
            return self._loop

    def _start(self) -> None:
        assert self._loop is not None  # noqa: S101 - its callers have looked
        self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
        self._thread.start()

    def _pause(self) -> None:
        """Let the loop finish its round and stop: what it waits for goes on afterwards, and there is no thread."""
        self._lock.acquire()
        # A fork made on the loop itself keeps its thread.
        if self._loop is None or self._thread is None or self._thread is threading.current_thread():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        _wait_for_the_end(self._thread)
        self._thread = None

    def _go_on(self) -> None:
        if self._loop is not None and self._thread is None:
            self._start()
        self._lock.release()

    def _forget(self) -> None:
        abandoned, self._loop = self._loop, None
        self._lock = threading.Lock()
        if abandoned is not None and self._thread is None:
            abandoned.close()
        self._thread = None


def _wait_for_the_end(thread: threading.Thread) -> None:
    """Wait until the kernel, too, has done with a thread that was joined: Python 3.12 counts those that it knows.

    Where there is no `/proc`, nobody counts so.
    """
    for _ in range(_MOST_LOOKS):
        if not os.path.exists(f"/proc/self/task/{thread.native_id}"):  # noqa: PTH110 - pathlib need not be loaded
            return
        time.sleep(_LOOK_S)
