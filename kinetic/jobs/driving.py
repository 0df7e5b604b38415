"""A thread that drives a batch for as long as its process lives, and those who wait for it."""

import threading
import time
from collections.abc import Callable
from typing import Final

from kinetic.jobs.deadline import Deadline
from kinetic.jobs.driver import Driver
from kinetic.log import get_logger
from kinetic_core.errors import KineticError, ResultTimeoutError, ResultUnavailableError

_FIRST_PAUSE_S: Final = 0.005
_LAST_PAUSE_S: Final = 5.0
_SHARE: Final = 9.0
"""Pauses are so many times as long as the processor worked for the look before."""
_MOST_TROUBLES: Final = 5


class Driving:
    """Drives a batch in the background. Looks come soon after a change, and seldom where nothing changes."""

    def __init__(self, driver: Driver) -> None:
        """Take over the driver; nothing happens before `start`."""
        self.driver = driver
        self.longest_pause_s = _LAST_PAUSE_S
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Tell whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin, unless it runs already or there is nothing left to do."""
        with self._changed:
            if self.is_running or self._is_over():
                return
            # A daemon: a batch must not keep its client from leaving, and any process can go on with it.
            name = f"kinetic-{self.driver.record.group_id}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Let the next look come at once."""
        self._awake.set()

    def fail(self, error: BaseException) -> None:
        """End the driving with an error, which whoever waits is told."""
        with self._changed:
            self._error = error
            self._changed.notify_all()
        self.wake()

    def wait(self, enough: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait until there is enough or nothing more will come; tell whether that was in time.

        Args:
            enough: Asked after each change.
            timeout_s: What a lock can wait; `None` for ever.

        Raises:
            KineticError: The driving failed: the store or a setting is at fault.
        """
        self.start()
        with self._changed:
            in_time = self._changed.wait_for(lambda: enough() or self._is_over(), timeout_s)
        if self._error is not None and not enough():
            raise self._error
        return in_time

    def wait_for_change(self, timeout_s: float) -> None:
        """Wait until a round was made, or the time is up."""
        with self._changed:
            self._changed.wait(timeout_s)

    def wait_or_raise(self, enough: Callable[[], bool], deadline: Deadline) -> None:
        """Do the same until a moment, and raise when it was not in time.

        Raises:
            ResultTimeoutError: The batch goes on.
            KineticError: The driving failed.
        """
        if not self.wait(enough, deadline.left_s):
            states = tuple(self.driver.states)
            done = f"{sum(state.is_final for state in states)} of {len(states)} inputs have ended"
            raise ResultTimeoutError(
                f"{self.driver.record.group_id} is not done after {deadline.timeout_s} s: {done};"
                " it goes on, ask this handle again"
            )

    def round(self) -> bool:
        """Make one round and tell those who wait; return whether anything changed."""
        changed = self.driver.step()
        with self._changed:
            self._changed.notify_all()
        return changed

    def _is_over(self) -> bool:
        return self._error is not None or self.driver.is_settled

    def _run(self) -> None:
        try:
            self._drive()
        except BaseException as error:  # noqa: BLE001  whoever waits must learn of it
            self.fail(error)
        finally:
            # The end may come without a round: there are no more inputs.
            with self._changed:
                self._changed.notify_all()

    def _drive(self) -> None:
        troubles, pause_s = 0, _FIRST_PAUSE_S
        while not self._is_over():
            self._awake.clear()
            began_s = time.thread_time()
            try:
                changed = self.round()
            except ResultUnavailableError as error:
                self.fail(error)
                return
            except KineticError as error:
                troubles += 1
                if troubles == _MOST_TROUBLES:
                    self._give_up(error)
                    return
                changed, pause_s = False, max(pause_s, 0.1 * 2**troubles)
            else:
                troubles = 0
            pause_s = _FIRST_PAUSE_S if changed else 2 * pause_s
            pause_s = min(max(pause_s, _SHARE * (time.thread_time() - began_s)), self.longest_pause_s)
            if not self._is_over():
                self._awake.wait(pause_s)

    def _give_up(self, error: KineticError) -> None:
        group_id = self.driver.record.group_id
        error.add_note(f"while driving {group_id}; kinetic.attach_batch({group_id!r}) goes on with it")
        get_logger("kinetic.jobs").warning(
            "batch_left", group_id=group_id, error=str(error), remedy=f"kinetic.attach_batch({group_id!r})"
        )
        self.fail(error)
