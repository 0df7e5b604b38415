"""Processes that left their pod's process group: found by where their HOME is, and ended."""

import contextlib
import os
import signal
from pathlib import Path


def strays(root: Path) -> list[int]:
    """Return the processes whose home is in the cluster's folder, where the system can tell."""
    mark = f"HOME={root}/pods/".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if any(line.startswith(mark) for line in entry.read_bytes().split(b"\0")):
                found.append(int(entry.parent.name))
    return found


def sweep(root: Path) -> None:
    """End them."""
    for process in strays(root):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
