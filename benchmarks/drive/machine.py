"""Clocks: of the wall, of this process, and of everybody else on the machine."""

import os
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_STAT: Final = Path("/proc/stat")
_STATUS: Final = Path("/proc/self/status")
_CLEAR_REFS: Final = Path("/proc/self/clear_refs")
# user nice system idle iowait irq softirq steal, of all processors together
_FIELDS: Final = slice(1, 9)
_IDLE: Final = slice(3, 5)


class Reading(NamedTuple):
    """One timed call."""

    wall_s: float
    cpu_s: float
    """Of this process and of the children that it waited for."""
    foreign_s: float
    """Processor time that others used meanwhile; 0 where the system does not tell."""
    peak_bytes: int
    """How far resident memory rose above what it was before; 0 where the system does not tell."""


def read(act: Callable[[], Any]) -> Reading:
    """Call, and read the clocks before and after.

    >>> read(lambda: None).wall_s >= 0
    True
    """
    _reset_peak()
    resident = _memory("VmRSS")
    busy, own, start = _busy_s(), _own_s(), time.perf_counter()
    act()
    wall = time.perf_counter() - start
    cpu, total = _own_s() - own, _busy_s() - busy
    return Reading(
        wall_s=wall,
        cpu_s=cpu,
        foreign_s=max(0.0, total - cpu),
        peak_bytes=max(0, _memory("VmHWM") - resident),
    )


def _own_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _busy_s() -> float:
    try:
        line = _STAT.read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return 0.0
    ticks = [int(field) for field in line.split()[_FIELDS]]
    return (sum(ticks) - sum(ticks[_IDLE])) / _TICKS_PER_S


def _reset_peak() -> None:
    with suppress(OSError):
        _CLEAR_REFS.write_text("5", encoding="ascii")


def _memory(field: str) -> int:
    try:
        text = _STATUS.read_text(encoding="ascii")
    except OSError:
        factor = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor
    line = next(line for line in text.splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024
