"""The cyclic garbage collector, out of the way while records are made by the thousand that no cycle holds."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector, if it runs; reference counts go on freeing what nothing holds.

    Each pass over a growing list of rows costs more than the last, and finds nothing.

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
            gc.enable()
