"""Descriptors that stay out of the numbers of the standard streams."""

import fcntl
import os

_FIRST = 3


def clear_of_streams(descriptor: int) -> int:
    """Return the descriptor, or one numbered 3 or above in the place of one that is not.

    A process whose own standard streams are closed gets their numbers for whatever it opens next, and what is set
    up as a child's streams then replaces it there. A lock stays held: both numbers mean the same open file.
    """
    if descriptor >= _FIRST:
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST)
    finally:
        os.close(descriptor)
