"""Round trips of what runs functions on this machine: submitit and loky."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from benchmarks.drive import calls
from benchmarks.drive.step import Step


def submitit(config: Mapping[str, Any]) -> Step:
    """Submit to its local executor, and wait; each job is a process of its own."""
    executor = import_module("submitit").LocalExecutor(folder=config["store"])
    return Step(act=lambda: executor.submit(calls.total, 1).result())


def loky(_: Mapping[str, Any]) -> Step:
    """Submit to its reusable executor, and wait; one process serves all."""
    executor = import_module("loky").get_reusable_executor(max_workers=1)
    return Step(act=lambda: executor.submit(calls.total, 1).result())
