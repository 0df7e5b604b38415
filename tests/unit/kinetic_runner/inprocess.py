"""Whole runs in the process of the tests."""

import os
from typing import Any

from kinetic_runner.runner import run
from tests.system.runner.artifacts import Bench
from tests.unit.kinetic_runner.journal import Journal


def run_here(bench: Bench, journal: Journal, *more: str) -> int:
    """Run the job in this process."""
    return run([*bench.write(), *more], environ=os.environ, log=journal)


def record_of(bench: Bench, name: str = "result.pkl") -> dict[str, Any]:
    """Return a record that must be there."""
    record = bench.read(name)
    assert record is not None
    return record


def reference(uri: str, **more: Any) -> dict[str, Any]:
    return {"__data_ref__": True, "uri": uri, "is_dir": False, "mount_path": None, "fuse": False, "id": "r", **more}


class Ended(BaseException):
    """Stands for the end of the process."""
