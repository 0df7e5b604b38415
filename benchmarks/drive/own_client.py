"""This project's round trip through its local backend, and what it asks of the store."""

import functools
import importlib
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.drive.step import Step

JOB: Final = """\
import kinetic

KEYWORDS = {"accelerator": "cpu", "backend": "local"}


def double(x):
    return 2 * x
"""
_WRITES: Final = ("put_file", "put_bytes", "put_if_absent")
_REQUESTS: Final = (*_WRITES, "get_file", "get_bytes", "exists", "list", "delete_prefix")
_OF_A_CONTEXT: Final = "context"


def round_trip(config: Mapping[str, Any]) -> Step:
    """Call `f(1)` elsewhere on this machine, and wait for the value."""
    double = _double(config)

    def act() -> None:
        if double(1) != 2:  # noqa: PLR2004 - twice one
            raise RuntimeError("the value is wrong")

    return Step(act=act)


def _double(config: Mapping[str, Any]) -> Any:
    project = Path(config["project"])
    project.joinpath("job.py").write_text(JOB, encoding="utf-8")
    os.chdir(project)
    # The benchmark may itself lie inside a project.
    os.environ["KINETIC_PACKAGE_ROOT"] = str(project)
    sys.path.insert(0, str(project))
    job = importlib.import_module("job")
    return job.kinetic.run(storage=config["store"], **job.KEYWORDS)(job.double)


def batch(config: Mapping[str, Any]) -> Step:
    """Start a batch and follow it to its end, on a backend whose jobs succeed as soon as it has them."""
    from kinetic_core.model.job import JobRef, JobState, JobStatus
    from kinetic_local.backend import LocalBackend

    known: set[str] = set()

    def submit_many(_backend: Any, specs: Any, **_: Any) -> Any:
        known.update(spec.job_id for spec in specs)
        return [JobRef(backend="local", job_id=spec.job_id, details={"job_url": spec.job_url}) for spec in specs]

    def status(_backend: Any, ref: JobRef) -> JobState:
        return JobState(status=JobStatus.SUCCEEDED if ref.job_id in known else JobStatus.NOT_FOUND)

    replaced: Any = LocalBackend
    replaced.submit_many, replaced.status = submit_many, status
    double = _double(config)
    spent: dict[str, float] = {}

    def act() -> None:
        began_s = time.process_time()
        counts = double.run_async_map(range(config["inputs"])).wait()
        spent["cpu_ms_an_input"] = (time.process_time() - began_s) * 1_000 / config["inputs"]
        if counts != {JobStatus.SUCCEEDED: config["inputs"]}:
            raise RuntimeError(f"the batch ended otherwise: {counts}")

    return Step(act=act, facts=lambda: spent)


def upload(config: Mapping[str, Any]) -> Step:
    """Submit a project that was submitted before, counting what goes to the store for its context."""
    from kinetic_fsspec.file import FileStorage

    counted: Counter[str] = Counter()
    for name in _REQUESTS:
        setattr(FileStorage, name, _counting(name, getattr(FileStorage, name), counted))
    step = round_trip(config)
    step.act()
    edited = config.get("edited")

    def before() -> None:
        if edited is not None:
            Path(config["project"], edited).write_bytes(os.urandom(512).hex().encode())
        counted.clear()

    return Step(before=before, act=step.act, facts=lambda: {"context_bytes": 0, "context_requests": 0, **counted})


def _counting(name: str, method: Any, counted: Counter[str]) -> Any:
    @functools.wraps(method)
    def counting(storage: Any, *args: Any, **kwargs: Any) -> Any:
        key = args[-1] if name in _WRITES else args[0] if args else ""
        if _OF_A_CONTEXT in key:
            counted["context_requests"] += 1
            if name in _WRITES:
                counted["context_bytes"] += args[0].stat().st_size if name == "put_file" else len(args[0])
        return method(storage, *args, **kwargs)

    return counting
