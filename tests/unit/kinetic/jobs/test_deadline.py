"""Seconds to wait, as users give them."""

import math
import threading
from fractions import Fraction
from typing import Any

import pytest

from kinetic.jobs.deadline import Deadline, checked_seconds
from kinetic_core.errors import ConfigError, UsageError


@pytest.mark.parametrize("timeout", [None, math.inf, 1e12, 10**400])
def test_what_no_clock_holds_never_comes(timeout: Any) -> None:
    deadline = Deadline.after(timeout)
    assert (deadline.timeout_s, deadline.left_s) == (None, None)


@pytest.mark.parametrize("timeout", [0, -1, -math.inf])
def test_nothing_and_less_is_now(timeout: float) -> None:
    deadline = Deadline.after(timeout)
    assert (deadline.timeout_s, deadline.left_s) == (timeout, 0.0)


@pytest.mark.parametrize("timeout", [1000, 1e9, Fraction(3000, 2)])
def test_what_is_left_of_a_time_is_what_a_lock_can_wait(timeout: Any) -> None:
    left_s = Deadline.after(timeout).left_s
    assert left_s is not None
    assert timeout - 500 < left_s <= timeout
    assert left_s <= threading.TIMEOUT_MAX


@pytest.mark.parametrize("value", ["x", "1", b"1", True, [1], object()])
def test_what_is_no_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(UsageError, match="poll_interval must be a number of seconds, got"):
        checked_seconds("poll_interval", value)
    with pytest.raises(UsageError, match="timeout must be a number of seconds, got"):
        Deadline.after(value)


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="timeout must be a number of seconds, got nan"):
        Deadline.after(math.nan)
