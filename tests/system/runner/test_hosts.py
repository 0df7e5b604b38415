"""A job on three hosts, each a real process, and what the client makes of their records."""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kinetic.jobs.ledger import JobRecord
from kinetic.jobs.results import collect
from kinetic.testing.log import RecordingLog
from kinetic_core.errors import JobFailedError
from kinetic_core.model.job import JobRef, JobState, JobStatus
from kinetic_core.packaging.collecting import load_result
from kinetic_core.plugin import DriverContext
from kinetic_fsspec.plugin import kinetic_storage_drivers
from tests.fakes.quiet_backend import QuietBackend
from tests.system.runner.artifacts import Bench

SUCCEEDED = JobState(status=JobStatus.SUCCEEDED)
# Host 0 has uploaded its value before the others go on, wherever they are to fail.
BODY = """
import os, pathlib, time
def f(folder, failing):
    index = int(os.environ['KINETIC_HOST_INDEX'])
    while index and not pathlib.Path(folder, 'result.pkl').exists():
        time.sleep(0.01)
    if index in failing:
        raise ValueError(f"host {index} of {os.environ['KINETIC_NUM_HOSTS']}")
    return f"value of {index}"
"""


def run_hosts(bench: Bench, failing: Sequence[int] = ()) -> list[int]:
    """Run the job on three hosts at once, and return their exit codes."""
    bench.define(BODY, "f", str(bench.folder), tuple(failing))
    env = {"KINETIC_NUM_HOSTS": "3"}
    hosts = [bench.start(env={**env, "TPU_WORKER_ID": str(index)}) for index in range(3)]
    return [bench.finish(host).code for host in hosts]


def collected(folder: Path, state: JobState = SUCCEEDED) -> Any:
    """Collect as the client does."""
    driver = next(driver for driver in kinetic_storage_drivers() if "file" in driver.schemes)
    store = driver.open(f"file://{folder.parent}", DriverContext(log=RecordingLog(), environ={}, home=folder))
    record = JobRecord(
        job_id="job-0a1b2c3d",
        backend="quiet",
        func_name="train",
        accelerator="cpu",
        created_at="2026-11-29T12:00:00+00:00",
        storage=store.url,
        folder=folder.name,
        result_file="result.pkl",
        ref=JobRef(backend="quiet", job_id="job-0a1b2c3d"),
    )
    return collect(record, state, store, QuietBackend(state), load_result)


def test_the_value_is_that_of_host_0(bench: Bench) -> None:
    assert run_hosts(bench) == [0, 0, 0]
    assert collected(bench.folder) == "value of 0"
    assert sorted(path.name for path in bench.folder.glob("result*")) == ["result.pkl"]


@pytest.mark.parametrize(("failing", "others"), [([2], []), ([1, 2], ["host 2"])])
def test_a_host_that_fails_after_host_0_succeeded_fails_the_job_and_nothing_is_deleted(
    bench: Bench, failing: list[int], others: list[str]
) -> None:
    assert run_hosts(bench, failing) == [0, *(int(index in failing) for index in (1, 2))]
    before = sorted(path.name for path in bench.folder.iterdir())
    with pytest.raises(ValueError, match=f"host {failing[0]} of 3") as caught:
        collected(bench.folder)
    notes = "\n".join(caught.value.__notes__)
    assert f"on host {failing[0]}, phase 'execute'" in notes
    assert ("also failed" in notes) == bool(others)
    assert all(other in notes for other in others)
    assert sorted(path.name for path in bench.folder.iterdir()) == before
    assert "result.pkl" in before


def test_the_error_of_host_0_comes_before_the_others(bench: Bench) -> None:
    assert run_hosts(bench, [0, 1, 2]) == [1, 1, 1]
    with pytest.raises(ValueError, match="host 0 of 3") as caught:
        collected(bench.folder)
    assert "also failed: host 1, host 2" in "\n".join(caught.value.__notes__)


def test_a_leader_that_is_killed_leaves_the_workers_errors_or_the_backends_word(bench: Bench) -> None:
    bench.define("import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    assert bench.run(env={"TPU_WORKER_ID": "0"}).code == -signal.SIGKILL
    killed = JobState(status=JobStatus.FAILED, exit_code=137, reason="killed by SIGKILL, possibly out of memory")
    with pytest.raises(JobFailedError, match="possibly out of memory"):
        collected(bench.folder, killed)
    bench.define("def f():\n    raise KeyError('of a worker')\n")
    assert bench.run(env={"TPU_WORKER_ID": "2"}).code == 1
    with pytest.raises(KeyError, match="of a worker"):
        collected(bench.folder, killed)
