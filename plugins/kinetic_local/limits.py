"""Limits of a runner and its children, where the platform can set them on a process that runs already."""

import math
import resource
import sys
from contextlib import suppress

_GRACE_S = 5
LEAST_BYTES = 16 << 20
"""No interpreter starts in less; ours begin at some 24 MiB."""


def can_limit() -> bool:
    """Tell whether this platform limits processes so: Linux does."""
    return sys.platform == "linux"


def limit(pid: int, *, memory_bytes: int | None, cpu_time_s: float | None) -> None:
    """Limit a runner that has just started; what it starts inherits the limits, each process with a count of its own.

    Beyond the memory, allocations fail. Beyond the time the kernel sends SIGXCPU, and somewhat later SIGKILL. A limit
    that this process has already, and that is lower, stays.

    Args:
        pid: The runner's; one that has ended needs no limits.
        memory_bytes: Of address space.
        cpu_time_s: Of processor time.
    """
    if sys.platform != "linux":
        return
    with suppress(ProcessLookupError):
        if memory_bytes is not None:
            most_bytes = min(memory_bytes, sys.maxsize)
            _lower(pid, resource.RLIMIT_AS, most_bytes, most_bytes)
        if cpu_time_s is not None:
            # More than a machine can count is no limit.
            seconds = min(math.ceil(cpu_time_s), sys.maxsize - _GRACE_S)
            _lower(pid, resource.RLIMIT_CPU, seconds, seconds + _GRACE_S)


def _lower(pid: int, number: int, soft: int, hard: int) -> None:
    """Set a limit, but none that is above the one it has."""
    most = resource.prlimit(pid, number)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.prlimit(pid, number, (soft, hard))
