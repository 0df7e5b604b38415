"""The cyclic garbage collector, out of the way while records are made by the thousand that no cycle holds."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_LEAST_FROZEN: Final = 1_000
"""Objects that an application freezes at the least: the interpreter alone has thousands. CPython 3.12 begins with
some hundreds that nobody asked for."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector, if it runs; reference counts go on freeing what nothing holds.

    Each pass over a growing list of rows costs more than the last, and finds nothing; so would one at the end, over
    all that was made meanwhile: what is there then counts as old, and waits for the next full collection.

    >>> with collector_paused():
    ...     gc.isenabled()
    False
    """
    was_running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_running:
            _count_all_as_old()
            gc.enable()


def _count_all_as_old() -> None:
    # What the application has frozen stays so.
    if gc.get_freeze_count() < _LEAST_FROZEN:
        gc.freeze()
        gc.unfreeze()
