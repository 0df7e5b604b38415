"""The processes below a supervisor: woken by their ends, signalled with all that descends from them, collected."""

import os
import select
import signal
from collections.abc import Collection
from contextlib import suppress
from types import FrameType
from typing import Final

from kinetic_local.processes import descendants, signal_all

_POLL_S: Final = 0.002
_SWEEPS: Final = 100
_PEEK: Final = os.WEXITED | os.WNOHANG | os.WNOWAIT
"""Look for a child that has ended, and leave it there."""


class Children:
    """What one process, which must have no other children, started and what escaped from that."""

    def __init__(self) -> None:
        """Take over this process's signals: from now on one is a wish and no sudden death."""
        self.stopping = False
        self._awake, wake = os.pipe()
        for end in (self._awake, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._on_child)
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def sleep(self, timeout_s: float | None) -> None:
        """Sleep until a signal arrives or the time is up."""
        if select.select([self._awake], [], [], timeout_s)[0]:
            os.read(self._awake, 1 << 10)

    def reap(self, leaders: Collection[int]) -> dict[int, int]:
        """Collect all children that ended; return the wait statuses of the leaders of groups among them, by id."""
        found: dict[int, int] = {}
        with suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, _PEEK)) is not None:
                if ended.si_pid in leaders:
                    # Before it is collected: afterwards its id may soon mean a group of somebody else.
                    signal_all(ended.si_pid, (), signal.SIGKILL)
                status = os.waitpid(ended.si_pid, 0)[1]
                if ended.si_pid in leaders:
                    found[ended.si_pid] = status
        return found

    def send(self, number: signal.Signals, groups: Collection[int]) -> None:
        """Send a signal to the groups and to all that descends from this process."""
        for group in groups:
            signal_all(group, (), number)
        signal_all(None, descendants(os.getpid()), number)

    def sweep(self) -> None:
        """Kill whatever the leaders, which were collected with their groups, left running out of them."""
        for _ in range(_SWEEPS):
            self.reap(())
            try:
                os.waitid(os.P_ALL, 0, _PEEK)
            except ChildProcessError:
                return
            signal_all(None, descendants(os.getpid()), signal.SIGKILL)
            self.sleep(_POLL_S)

    def _on_child(self, _number: int, _frame: FrameType | None) -> None:
        """Do nothing: the signal's arrival ends the sleep."""

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True
