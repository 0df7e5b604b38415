"""What a backend promises, asked of the local one with the real runner, and what the local one promises besides."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetic.testing import BackendContract, RecordingLog, make_job, result_of
from kinetic.testing.backend import WAIT_S, ref_of, run, wait_for
from kinetic_core.model.job import JobRef, JobState, JobStatus
from kinetic_core.plugin import Backend, BackendDriver, DriverContext
from kinetic_local.plugin import kinetic_backend_drivers


class TestLocal(BackendContract):
    @pytest.fixture
    def driver(self) -> BackendDriver:
        (driver,) = kinetic_backend_drivers()
        return driver

    @pytest.fixture
    def backend(self, backend: Backend) -> Backend:
        return backend


@pytest.fixture
def backend(tmp_path: Path, private_temp: Path) -> Iterator[Backend]:
    """A backend whose jobs, processes and temporary files must all be gone in the end."""
    (driver,) = kinetic_backend_drivers()
    home = tmp_path / "home"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(private_temp), "UNWANTED": "leak"}
    opened = driver.open(DriverContext(log=RecordingLog(), environ=environ, home=home))
    yield opened
    for ref in opened.find():
        opened.cancel(ref)
    assert list(private_temp.iterdir()) == []


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_success_has_the_code_of_one(backend: Backend, store: Path) -> None:
    assert run(backend, make_job(store, lambda: 1)) == JobState(status=JobStatus.SUCCEEDED, exit_code=0)


def test_a_functions_exception_has_the_code_of_a_failure(backend: Backend, store: Path) -> None:
    state = run(backend, make_job(store, lambda: int("no number")))
    assert (state.status, state.exit_code) == (JobStatus.FAILED, 1)


def test_a_process_that_leaves_without_a_result_failed(backend: Backend, store: Path) -> None:
    state = run(backend, make_job(store, lambda: os._exit(0)))
    assert (state.status, state.reason) == (JobStatus.FAILED, "exited without a result")


def test_a_process_that_leaves_with_a_code_failed_with_it(backend: Backend, store: Path) -> None:
    state = run(backend, make_job(store, lambda: os._exit(7)))
    assert (state.status, state.exit_code) == (JobStatus.FAILED, 7)
    assert "exited with code 7" in state.reason


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGKILL, "killed by SIGKILL, possibly out of memory"), (signal.SIGSEGV, "killed by SIGSEGV")],
)
def test_a_job_killed_by_a_signal_says_which(
    backend: Backend, store: Path, number: signal.Signals, reason: str
) -> None:
    state = run(backend, make_job(store, lambda number: os.kill(os.getpid(), number), int(number)))
    assert state == JobState(status=JobStatus.FAILED, reason=reason, exit_code=128 + number)


def test_events_tell_a_jobs_life_in_order_and_again_to_whoever_comes_later(backend: Backend, store: Path) -> None:
    spec = make_job(store, lambda: 1)
    ref = backend.submit(spec)
    events = list(backend.events(ref, timeout_s=WAIT_S))
    assert [event.kind for event in events] == ["job_submitted", "job_started", "job_ended"]
    assert [event.status for event in events] == [JobStatus.PENDING, JobStatus.RUNNING, JobStatus.SUCCEEDED]
    assert {event.job_id for event in events} == {spec.job_id}
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert all(event.at.tzinfo is not None for event in events)
    assert list(backend.events(ref)) == events


def test_cancelling_ends_every_process_of_the_job(backend: Backend, store: Path, tmp_path: Path) -> None:
    def spread(path: str) -> None:
        import subprocess
        import sys

        sleep = [sys.executable, "-S", "-c", f"import time; time.sleep({WAIT_S})"]
        stubborn = (
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True);"
            f"time.sleep({WAIT_S})"
        )
        children = [
            subprocess.Popen(sleep),
            subprocess.Popen(sleep, start_new_session=True),
            subprocess.Popen([sys.executable, "-S", "-c", stubborn], start_new_session=True, stdout=subprocess.PIPE),
        ]
        pipe = children[2].stdout
        assert pipe is not None
        pipe.readline()
        Path(path).write_text(" ".join(str(pid) for pid in [os.getpid(), *(child.pid for child in children)]) + "\n")
        time.sleep(WAIT_S)

    ref = backend.submit(make_job(store, spread, str(tmp_path / "pids")))
    pids = [int(pid) for pid in wait_for(tmp_path / "pids").split()]
    assert len(pids) == 4
    backend.cancel(ref)
    assert backend.status(ref).status is JobStatus.CANCELLED
    assert [pid for pid in pids if is_running(pid)] == []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def test_processes_that_a_job_leaves_behind_end_with_it(backend: Backend, store: Path, tmp_path: Path) -> None:
    def leave(path: str) -> None:
        import subprocess
        import sys

        sleep = [sys.executable, "-S", "-c", f"import time; time.sleep({WAIT_S})"]
        left = [subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)]
        Path(path).write_text(" ".join(str(child.pid) for child in left) + "\n")

    spec = make_job(store, leave, str(tmp_path / "pids"))
    assert run(backend, spec).status is JobStatus.SUCCEEDED
    assert [pid for pid in map(int, wait_for(tmp_path / "pids").split()) if is_running(pid)] == []


def test_a_job_that_nobody_submitted_is_not_found(backend: Backend, store: Path) -> None:
    ref = JobRef(backend="local", job_id="job-00000000", details={"job_url": f"file://{store}/job-00000000"})
    assert backend.status(ref).status is JobStatus.NOT_FOUND
    assert list(backend.events(ref)) == []
    backend.cancel(ref)
    backend.cleanup(ref)


def test_the_function_sees_its_job_and_nothing_of_the_client(
    backend: Backend, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("/nowhere/of/the/client")
    monkeypatch.setenv("PYTHONPATH", "/nowhere/of/the/client")
    monkeypatch.setenv("UNWANTED", "leak")

    def look() -> dict[str, object]:
        import sys

        files = [path.name for path in Path.cwd().iterdir()]
        return {"environ": dict(os.environ), "path": sys.path, "cwd": str(Path.cwd()), "files": files}

    spec = make_job(store, look)
    assert run(backend, spec).status is JobStatus.SUCCEEDED
    seen = result_of(spec)["result"]
    assert seen["environ"]["KINETIC_JOB_ID"] == spec.job_id
    assert seen["environ"]["KINETIC_OUTPUT_DIR"] == spec.output_dir
    assert (seen["environ"]["KINETIC_HOST_INDEX"], seen["environ"]["KINETIC_NUM_HOSTS"]) == ("0", "1")
    assert "UNWANTED" not in seen["environ"]
    assert "PYTHONPATH" not in seen["environ"]
    assert "/nowhere/of/the/client" not in seen["path"]
    assert str(tmp_path) not in (seen["cwd"], *seen["path"])
    assert "notes.txt" in seen["files"]


def test_each_job_has_a_private_workspace_of_its_own_that_is_gone_afterwards(backend: Backend, store: Path) -> None:
    def look(read: str) -> tuple[str, int, str]:
        text, sealed = Path(read).read_text(), Path("made/sealed")
        sealed.mkdir(parents=True)
        (sealed / "file").touch()
        sealed.chmod(0o500)
        Path("made/link").symlink_to("/etc")
        return str(Path.cwd()), Path.cwd().parent.stat().st_mode & 0o777, text

    first = make_job(store, look, "x/file", files={"x/file": "one"})
    second = make_job(store, look, "x", files={"x": "two"})
    for spec in (first, second):
        backend.submit(spec)
    for spec in (first, second):
        list(backend.events(ref_of(backend, spec), timeout_s=WAIT_S))
    (cwd_1, mode_1, text_1), (cwd_2, mode_2, text_2) = (result_of(spec)["result"] for spec in (first, second))
    assert cwd_1 != cwd_2
    assert (mode_1, mode_2) == (0o700, 0o700)
    assert (text_1, text_2) == ("one", "two")
    assert not Path(cwd_1).exists()
    assert not Path(cwd_2).exists()
    assert Path("/etc").is_dir()


def test_a_job_that_takes_too_long_is_ended(backend: Backend, store: Path) -> None:
    def linger() -> None:
        time.sleep(WAIT_S)

    state = run(backend, make_job(store, linger, timeout=1.0))
    assert (state.status, state.reason) == (JobStatus.FAILED, "timed out after 1 s")
