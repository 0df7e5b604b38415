"""Many jobs in one process: no file handle, process, thread or directory is left."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import pytest

from kinetic.testing.jobs import make_job
from kinetic_core.model.job import JobRef, JobSpec, JobStatus
from kinetic_core.plugin import Backend
from kinetic_local.pod import read_events
from tests.fakes.scripted_runner import LINGER, ScriptedPod, is_running, wait_until
from tests.system.local.conftest import WAIT_S, Machine

JOBS: Final = 300
LEAST_JOBS: Final = 100
PATIENCE_S: Final = 20.0
"""A slow machine makes fewer jobs, but never less than the least."""

# It begins when its supervisor watches: no runner is as fast as a script that imports nothing.
ORPHAN: Final = """
import os, time
events = f"../../store/{os.environ['KINETIC_JOB_ID']}/pod/events.jsonl"
while "job_started" not in open(events).read():
    time.sleep(0.002)
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    time.sleep(600)
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to count")


@attrs.frozen
class Count:
    """What a process holds."""

    handles: int
    children: int
    threads: int

    @classmethod
    def now(cls) -> "Count":
        """Count what this process holds, zombies among its children."""
        children = 0
        for process in processes():
            try:
                fields = (process / "stat").read_text().rpartition(") ")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            children += int(fields[1]) == os.getpid()
        return cls(len(list(Path("/proc/self/fd").iterdir())), children, threading.active_count())

    def grew_since(self, before: "Count") -> bool:
        """Tell whether there is more than before, by as much as one in ten jobs; other tests here may let go of some.

        What every job leaves is a hundred at the least.
        """
        mine, theirs = attrs.astuple(self), attrs.astuple(before)
        return any(now - then >= LEAST_JOBS // 10 for now, then in zip(mine, theirs, strict=True))


def processes() -> list[Path]:
    """Return the folders of all processes."""
    return [path for path in Path("/proc").iterdir() if path.name.isdigit()]


def soak(backend: Backend, make: Callable[[int], JobSpec], *, cancelled: Callable[[int], bool]) -> Iterator[JobRef]:
    """Run jobs one after the other, some of which are cancelled; yield each when it has ended."""
    deadline_s = time.monotonic() + PATIENCE_S
    for number in range(JOBS):
        if number >= LEAST_JOBS and time.monotonic() > deadline_s:
            return
        ref = backend.submit(make(number))
        if cancelled(number):
            wait_until(partial(_has_begun, backend, ref))
            backend.cancel(ref)
        list(backend.events(ref, timeout_s=WAIT_S))
        "".join(backend.logs(ref))
        yield ref


def _has_begun(backend: Backend, ref: JobRef) -> bool:
    return backend.status(ref).status is not JobStatus.PENDING


def pids_of(ref: JobRef) -> list[int]:
    events = read_events(f"{ref.details['job_url'].removeprefix('file://')}/pod")
    return [event["details"]["pid"] for event in events if "pid" in event["details"]]


def state_of(home: Path) -> list[str]:
    """Return what is left of living jobs and of their turns."""
    state = home / ".kinetic/local"
    found = [path.name for name in ("live", "queue", "arrays") for path in (state / name).glob("*")]
    return [name for name in found if not name.startswith("slot-")]


def test_hundreds_of_jobs_leave_nothing(machine: Machine) -> None:
    """With the real runner, in processes that are made ahead."""
    backend = machine.open_hasty(1)
    add = lambda number: number + 1 if number % 5 else 1 / 0  # noqa: E731 - a function that travels by value

    def make(number: int) -> JobSpec:
        return make_job(machine.store, add, number)

    def ends() -> Iterator[list[int]]:
        for ref in soak(backend, make, cancelled=lambda _: False):
            assert backend.status(ref).status in (JobStatus.SUCCEEDED, JobStatus.FAILED)
            pids = pids_of(ref)
            backend.cleanup(ref)
            yield pids

    run = ends()
    seen = [pid for _, pids in zip(range(10), run, strict=False) for pid in pids]
    before = Count.now()
    seen += [pid for pids in run for pid in pids]
    assert len(seen) >= 2 * LEAST_JOBS
    assert not Count.now().grew_since(before)
    # The last one makes the processes of the next.
    wait_until(lambda: not any(map(is_running, seen)))
    assert list(backend.find()) == []
    assert state_of(machine.home) == []
    assert list(machine.temporary.iterdir()) == []
    assert list(machine.store.glob("*/pod")) == []


def test_many_jobs_of_which_some_are_cancelled_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With scripts, in processes that are made when a job comes; each starts another that leaves its group."""
    pod = ScriptedPod(tmp_path, monkeypatch)
    backend = pod.open(grace_s=0.2, KINETIC_LOCAL_STANDBY="0")
    scripts = [f"{ORPHAN}raise SystemExit(3)", f"{ORPHAN}{LINGER}"]

    def is_cancelled(number: int) -> bool:
        return number % 4 == 0

    def make(number: int) -> JobSpec:
        return pod.job(scripts[is_cancelled(number)], job_id=f"job-{number:08x}")

    run = soak(backend, make, cancelled=is_cancelled)
    refs = [ref for _, ref in zip(range(4), run, strict=False)]
    before = Count.now()
    refs += run
    assert len(refs) >= LEAST_JOBS
    assert not Count.now().grew_since(before)
    assert {backend.status(ref).status for ref in refs} == {JobStatus.FAILED, JobStatus.CANCELLED}
    wait_until(lambda: not any(is_running(pid) for ref in refs for pid in pids_of(ref)))
    for ref in refs:
        backend.cleanup(ref)
    assert list(backend.find()) == []
    assert state_of(pod.home) == []
    assert list(pod.temporary.iterdir()) == []
    assert list(pod.folder.glob("store/*/pod")) == []
    assert [process for process in processes() if _is_of(pod, process)] == []


def _is_of(pod: ScriptedPod, process: Path) -> bool:
    """Tell whether a process is one that a script of this test started."""
    try:
        return f"HOME={pod.home}".encode() in (process / "environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
