"""SIGTERM: a spot reclaim, a deadline, a cancellation. There is little time, and a record to be written."""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final

EXIT_CODE: Final = 143
_MAX_WRITE_S: Final = 20.0


class Termination:
    """Answers the first SIGTERM by a last action and the end of the process; further ones change nothing."""

    def __init__(self, last: Callable[[], None]) -> None:
        """Take the action. It runs in a thread of its own: what the main thread holds must not stop it for good."""
        self._last = last
        self._deferred = False
        self._masks = threading.local()
        self.asked = False

    def install(self) -> None:
        """Answer from now on, in this process only: a fork of it dies of the signal as any process does."""
        signal.signal(signal.SIGTERM, self._answer)
        # Held back around a fork: a new process drops what reached it before it forgot the handler.
        os.register_at_fork(before=self._hold, after_in_parent=self._release, after_in_child=self._forget)

    def defer(self) -> None:
        """From now on only take note: what is being written is worth more than the news that it was interrupted."""
        self._deferred = True

    def _answer(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            return
        self.asked = True
        if self._deferred:
            return
        writer = threading.Thread(target=self._last, daemon=True)
        writer.start()
        writer.join(_MAX_WRITE_S)
        os._exit(EXIT_CODE)

    def _hold(self) -> None:
        self._masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))

    def _release(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._masks.before)

    def _forget(self) -> None:
        if signal.getsignal(signal.SIGTERM) == self._answer:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._release()
