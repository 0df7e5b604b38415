"""What a backend that takes arrays promises, asked of the local one with the real runner."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from kinetic.testing.jobs import make_job, result_of
from kinetic.testing.log import RecordingLog
from kinetic_core.model.job import JobRef, JobSpec, JobStatus
from kinetic_core.plugin import ArrayBackend, Capability, DriverContext
from kinetic_local.plugin import kinetic_backend_drivers

WAIT_S = 60

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks for keepers in /proc")


@pytest.fixture
def backend(tmp_path: Path, private_temp: Path) -> Iterator[ArrayBackend]:
    (driver,) = kinetic_backend_drivers()
    assert Capability.ARRAYS in driver.capabilities
    home = tmp_path / "home"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(private_temp), "KINETIC_LOCAL_JOBS": "2"}
    opened = cast("ArrayBackend", driver.open(DriverContext(log=RecordingLog(), environ=environ, home=home)))
    yield opened
    for ref in opened.find():
        opened.cancel(ref)
    assert list(opened.find()) == []


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def jobs(store: Path, count: int, *, hidden: dict[str, str] | None = None) -> list[JobSpec]:
    """Make jobs that note when they begin and end, and return their number."""
    notes = str(store.parent / "notes")

    def work(number: int, notes: str) -> tuple[int, str]:
        import os
        import time
        from pathlib import Path

        def note(sign: str) -> None:
            with Path(notes).open("a") as stream:
                stream.write(f"{sign}{number}\n")

        note("+")
        time.sleep(0.05)
        note("-")
        return number, os.environ.get("TOKEN", "")

    return [make_job(store, work, number, notes, hidden=hidden) for number in range(count)]


def sleepers(store: Path, count: int) -> list[JobSpec]:
    return [make_job(store, lambda: __import__("time").sleep(600)) for _ in range(count)]


def end_of(backend: ArrayBackend, ref: JobRef) -> JobStatus:
    list(backend.events(ref, timeout_s=WAIT_S))
    return backend.status(ref).status


def wait_until_started(backend: ArrayBackend, ref: JobRef) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while backend.status(ref).status is JobStatus.PENDING:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def keepers(store: Path) -> list[int]:
    """Return the process ids of the keepers of this test."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if keeps(folder, str(store.parent))]


def keeps(process: Path, mine: str) -> bool:
    try:
        is_keeper = b"kinetic_local.keeper" in process.joinpath("cmdline").read_bytes()
        return is_keeper and any(mine in str(path.readlink()) for path in process.joinpath("fd").iterdir())
    except OSError:
        return False


def test_each_job_of_an_array_runs_once_with_its_own_payload_and_secrets(backend: ArrayBackend, store: Path) -> None:
    specs = jobs(store, 5, hidden={"TOKEN": "t"})
    refs = backend.submit_many(specs)
    assert [ref.job_id for ref in refs] == [spec.job_id for spec in specs]
    assert [end_of(backend, ref) for ref in refs] == [JobStatus.SUCCEEDED] * 5
    assert [result_of(spec)["result"] for spec in specs] == [(number, "t") for number in range(5)]
    assert sorted((store.parent / "notes").read_text().split()) == sorted(f"{s}{n}" for s in "+-" for n in range(5))


def test_no_more_than_asked_for_run_at_once_and_they_start_in_order(backend: ArrayBackend, store: Path) -> None:
    refs = backend.submit_many(jobs(store, 4), max_concurrent=1)
    assert [end_of(backend, ref) for ref in refs] == [JobStatus.SUCCEEDED] * 4
    assert (store.parent / "notes").read_text().split() == [f"{sign}{number}" for number in range(4) for sign in "+-"]


def test_jobs_that_wait_are_pending_and_found_and_submitting_again_starts_none_twice(
    backend: ArrayBackend, store: Path
) -> None:
    specs = sleepers(store, 4)
    refs = backend.submit_many(specs, max_concurrent=1)
    wait_until_started(backend, refs[0])
    assert backend.submit_many(specs, max_concurrent=1) == refs
    assert [backend.status(ref).status for ref in refs[1:3]] == [JobStatus.PENDING] * 2
    assert {ref.job_id for ref in backend.find()} == {spec.job_id for spec in specs}
    assert len(keepers(store)) == 1


def test_a_job_that_waits_is_cancelled_at_once_and_never_runs(backend: ArrayBackend, store: Path) -> None:
    running, *waiting = backend.submit_many(sleepers(store, 3), max_concurrent=1)
    wait_until_started(backend, running)
    for ref in waiting:
        backend.cancel(ref)
        backend.cancel(ref)
    assert [backend.status(ref).status for ref in waiting] == [JobStatus.CANCELLED] * 2
    backend.cancel(running)
    assert end_of(backend, running) is JobStatus.CANCELLED
    kinds = [[event.kind for event in backend.events(ref)] for ref in waiting]
    assert kinds == [["job_ended"]] * 2


def test_cleaned_up_jobs_are_not_started_any_more(backend: ArrayBackend, store: Path) -> None:
    running, waiting = backend.submit_many(sleepers(store, 2), max_concurrent=1)
    wait_until_started(backend, running)
    backend.cleanup(waiting)
    backend.cleanup(running)
    assert [backend.status(ref).status for ref in (running, waiting)] == [JobStatus.NOT_FOUND] * 2
    deadline_s = time.monotonic() + WAIT_S
    while keepers(store):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    assert backend.status(waiting).status is JobStatus.NOT_FOUND


def test_when_the_keeper_is_killed_what_runs_goes_on_and_what_waits_says_so(backend: ArrayBackend, store: Path) -> None:
    specs = sleepers(store, 2)
    running, waiting = backend.submit_many(specs, max_concurrent=1)
    wait_until_started(backend, running)
    (keeper,) = keepers(store)
    os.kill(keeper, signal.SIGKILL)
    deadline_s = time.monotonic() + WAIT_S
    while backend.status(waiting).status is JobStatus.PENDING:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    state = backend.status(waiting)
    assert (state.status, state.reason) == (JobStatus.NOT_FOUND, "the process that was to start it is no more")
    assert backend.status(running).status is JobStatus.RUNNING
    backend.submit_many(specs)
    wait_until_started(backend, waiting)
    assert backend.status(waiting).status is JobStatus.RUNNING


def test_an_empty_array_is_no_array(backend: ArrayBackend, store: Path) -> None:
    assert list(backend.submit_many([])) == []
    assert keepers(store) == []
