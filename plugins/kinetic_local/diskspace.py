"""Whether a disk is full: a job that can write neither log nor result cannot say so itself."""

import os
from collections.abc import Iterable
from contextlib import suppress

LEAST_BYTES = 64 << 10


def full_place(places: Iterable[str], *, least_bytes: int = LEAST_BYTES) -> str | None:
    """Return the first of these directories whose disk has no room left; `None` where all have some.

    Args:
        places: Directories; one that is gone is passed over.
        least_bytes: With less than that, next to nothing can be written.
    """
    for place in places:
        with suppress(OSError):
            disk = os.statvfs(place)
            if disk.f_bavail * disk.f_frsize < least_bytes:
                return place
    return None
