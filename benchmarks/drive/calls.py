"""Calls to package: functions and arguments, always the same."""

import threading
from typing import Any


def total(*args: Any) -> int:
    """Count what arrived."""
    return len(args)


def arrays(size_bytes: int, count: int) -> list[Any]:
    """Return arrays of noise, so many bytes together."""
    import numpy as np

    generator = np.random.default_rng(7)
    words = size_bytes // count // 8
    return [generator.integers(0, 1 << 62, words) for _ in range(count)]


def nested(count: int) -> list[Any]:
    """Return so many plain values, nested as configurations and records are."""
    records = [
        {"id": number, "name": f"sample {number % 1000}", "box": [number, number + 1, 2.5], "ok": True, "tag": None}
        for number in range(count // 8)
    ]
    return [records[start : start + 100] for start in range(0, len(records), 100)]


def unpicklable(size_bytes: int, count: int) -> list[Any]:
    """Return arrays with something behind them that cannot travel."""
    return [*arrays(size_bytes, count), {"state": {"lock": threading.Lock()}}]
