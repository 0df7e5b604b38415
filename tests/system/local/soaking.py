"""Runs many jobs in a process of its own, in which nobody else opens or closes anything, and prints what it found.

`python -m tests.system.local.soaking runners|scripts FOLDER` prints the facts as JSON.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
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
# What is made once, by the first jobs, is no growth.
WARM_UP: Final = 8

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


@attrs.define(kw_only=True)
class Facts:
    """What a soak found: counts after the first jobs and after the last, and what was left when all had ended."""

    jobs: int
    before: Count
    after: Count
    pids: list[int]
    statuses: list[str]
    live: list[str] = attrs.field(factory=list)
    state: list[str] = attrs.field(factory=list)
    files: list[str] = attrs.field(factory=list)

    @classmethod
    def from_json(cls, text: str) -> "Facts":
        """Return what another process printed."""
        raw = json.loads(text)
        return cls(**raw | {"before": Count(**raw["before"]), "after": Count(**raw["after"])})

    @property
    def grew(self) -> bool:
        """Tell whether the process holds more of anything than after the first jobs."""
        pairs = zip(attrs.astuple(self.after), attrs.astuple(self.before), strict=True)
        return any(now > then for now, then in pairs)


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


def counted(run: Iterator[JobRef], backend: Backend) -> tuple[Facts, list[JobRef]]:
    """Let the jobs run; return the counts and how each ended, and what each is."""
    before = after = Count.now()
    refs, pids, statuses = [], [], []
    for ref in run:
        refs.append(ref)
        pids.extend(_pids_of(ref))
        statuses.append(backend.status(ref).status.value)
        after = Count.now()
        if len(refs) == WARM_UP:
            before = after
    return Facts(jobs=len(refs), before=before, after=after, pids=pids, statuses=sorted(set(statuses))), refs


def _pids_of(ref: JobRef) -> list[int]:
    events = read_events(f"{ref.details['job_url'].removeprefix('file://')}/pod")
    return [event["details"]["pid"] for event in events if "pid" in event["details"]]


def look_around(facts: Facts, backend: Backend, *, home: Path, temporary: Path, store: Path) -> None:
    """Add what is left when each process of the jobs has ended."""
    wait_until(lambda: not any(map(is_running, facts.pids)))
    facts.live = [ref.job_id for ref in backend.find()]
    facts.state = _state_of(home)
    facts.files = [str(path) for path in (*temporary.iterdir(), *store.glob("*/pod"))]


def _state_of(home: Path) -> list[str]:
    """Return what is left of living jobs and of their turns."""
    state = home / ".kinetic/local"
    found = [path.name for name in ("live", "queue", "arrays") for path in (state / name).glob("*")]
    return [name for name in found if not name.startswith("slot-")]


def soak_runners(folder: Path) -> Facts:
    """Run jobs with the real runner, in processes that are made ahead."""
    machine = Machine(base=folder, temporary=folder / "temporary")
    for made in (machine.temporary, machine.home, machine.store):
        made.mkdir()
    backend = machine.open()
    add = lambda number: number + 1 if number % 5 else 1 / 0  # noqa: E731 - a function that travels by value

    def make(number: int) -> JobSpec:
        return make_job(machine.store, add, number)

    facts, refs = counted(soak(backend, make, cancelled=lambda _: False), backend)
    _clean_up(backend, refs)
    look_around(facts, backend, home=machine.home, temporary=machine.temporary, store=machine.store)
    return facts


def soak_scripts(folder: Path) -> Facts:
    """Run scripts, in processes that are made when a job comes; each starts another that leaves its group."""
    pod = ScriptedPod(folder, pytest.MonkeyPatch())
    backend = pod.open(KINETIC_LOCAL_STANDBY="0")
    scripts = [f"{ORPHAN}raise SystemExit(3)", f"{ORPHAN}{LINGER}"]

    def is_cancelled(number: int) -> bool:
        return number % 4 == 0

    def make(number: int) -> JobSpec:
        return pod.job(scripts[is_cancelled(number)], job_id=f"job-{number:08x}")

    facts, refs = counted(soak(backend, make, cancelled=is_cancelled), backend)
    wait_until(lambda: not any(map(is_running, facts.pids)))
    _clean_up(backend, refs)
    look_around(facts, backend, home=pod.home, temporary=pod.temporary, store=pod.folder / "store")
    return facts


def _clean_up(backend: Backend, refs: Iterable[JobRef]) -> None:
    for ref in refs:
        backend.cleanup(ref)


if __name__ == "__main__":
    what, where = sys.argv[1:]
    print(json.dumps(attrs.asdict({"runners": soak_runners, "scripts": soak_scripts}[what](Path(where)))))
