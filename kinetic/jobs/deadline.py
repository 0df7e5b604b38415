"""How long somebody waits: seconds as the user gave them, turned into what is left of them."""

import math
import threading
import time
from typing import Any

import attrs

from kinetic_core.errors import ConfigError, UsageError


@attrs.frozen(kw_only=True)
class Deadline:
    """A moment after which nobody waits any longer, or none."""

    timeout_s: float | None
    """As it was asked for; `None` for ever."""
    _at_s: float | None

    @classmethod
    def after(cls, timeout: float | None) -> "Deadline":
        """Return the moment that lies so many seconds from now.

        Args:
            timeout: Seconds. 0 or less is now; `None`, infinity and what no clock holds are never.

        Raises:
            UsageError: It is no number.
            ConfigError: It is not a number by name.

        >>> Deadline.after(float("inf")).left_s is None, Deadline.after(-1).left_s
        (True, 0.0)
        """
        seconds = None if timeout is None else checked_seconds("timeout", timeout)
        if seconds is None or seconds > threading.TIMEOUT_MAX:
            return cls(timeout_s=None, at_s=None)
        return cls(timeout_s=timeout, at_s=time.monotonic() + seconds)

    @property
    def left_s(self) -> float | None:
        """Return the seconds that are left, 0 where none are; `None` where it never comes."""
        return None if self._at_s is None else max(0.0, self._at_s - time.monotonic())


def checked_seconds(name: str, value: Any) -> float:
    """Return a number of seconds.

    Args:
        name: What the argument is called.
        value: As the user gave it.

    Raises:
        UsageError: It is no number.
        ConfigError: It is not a number by name.

    >>> checked_seconds("timeout", 3), checked_seconds("timeout", 10**400)
    (3.0, inf)
    """
    # Numbers of NumPy and the like are numbers too.
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        raise UsageError(f"{name} must be a number of seconds, got {value!r} of type {type(value).__name__}")
    try:
        seconds = float(value)
    except OverflowError:
        return math.inf
    if math.isnan(seconds):
        raise ConfigError(f"{name} must be a number of seconds, got {value!r}")
    return seconds
