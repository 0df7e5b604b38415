"""Patience: how long somebody who waits for a job bears that its cluster does not answer."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from kinetic_gke.cluster.refusal import ClusterError

T = TypeVar("T")

LONGEST_S: Final = 900.0
"""An upgrade of a zonal control plane takes minutes, and its jobs run on meanwhile."""
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 15.0


def patiently(ask: Callable[[bool], T], tell: Callable[[ClusterError], None], *, deadline_s: float | None) -> T:
    """Return an answer, asked for again as long as what stands against it may pass.

    Args:
        ask: Asks; told whether it is asked again.
        tell: Told, once, that there is no answer.
        deadline_s: When nobody waits any more, as `time.monotonic` counts; `None` for never.

    Raises:
        ClusterError: It will not pass, has lasted too long, or the time is up.
    """
    since_s, pause_s = time.monotonic(), _FIRST_PAUSE_S
    is_again = False
    while True:
        try:
            return ask(is_again)
        except ClusterError as error:
            now_s = time.monotonic()
            left_s = since_s + LONGEST_S - now_s
            left_s = left_s if deadline_s is None else min(left_s, deadline_s - now_s)
            if not error.may_pass or left_s <= 0:
                raise
            if not is_again:
                tell(error)
        is_again = True
        time.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
