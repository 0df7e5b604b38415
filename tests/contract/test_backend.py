"""What a backend promises, asked of the local one and of a cluster, with the real runner."""

import os
import signal
import time
from pathlib import Path

import pytest

from kinetic_core.model.job import JobRef, JobSpec, JobState, JobStatus
from kinetic_core.plugin import Backend
from tests.contract.backends import MakeJob, backend, gke_backend, local_backend, make_job
from tests.fakes.hand_made_job import result_of
from tests.fakes.kube.fixtures import cluster, kubeconfig, room

__all__ = ["backend", "cluster", "gke_backend", "kubeconfig", "local_backend", "make_job", "room"]

WAIT_S = 60


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def run(backend: Backend, spec: JobSpec) -> JobState:
    """Run the job to its end."""
    ref = backend.submit(spec)
    list(backend.events(ref, timeout_s=WAIT_S))
    return backend.status(ref)


def log_of(backend: Backend, ref: JobRef) -> str:
    return "".join(backend.logs(ref))


def ref_of(backend: Backend, spec: JobSpec) -> JobRef:
    """Return the reference to a job that was submitted before."""
    return backend.submit(spec)


def wait_for(path: Path) -> str:
    """Wait until a job has written a whole line to a file; return it."""
    deadline_s = time.monotonic() + WAIT_S
    while not path.exists() or not path.read_text().endswith("\n"):
        assert time.monotonic() < deadline_s, f"{path} was never written"
        time.sleep(0.01)
    return path.read_text().strip()


def test_a_value_comes_home(backend: Backend, store: Path, make_job: MakeJob) -> None:
    spec = make_job(store, lambda a, b: {"sum": a + b}, 2, 3)
    assert run(backend, spec) == JobState(status=JobStatus.SUCCEEDED, exit_code=0)
    assert result_of(spec)["result"] == {"sum": 5}


def test_a_functions_exception_is_a_failed_job_with_a_record(backend: Backend, store: Path, make_job: MakeJob) -> None:
    def fail() -> None:
        raise LookupError("no such thing")

    spec = make_job(store, fail)
    state = run(backend, spec)
    assert (state.status, state.exit_code) == (JobStatus.FAILED, 1)
    assert isinstance(result_of(spec)["exception"], LookupError)


def test_leaving_with_success_is_success_with_none(backend: Backend, store: Path, make_job: MakeJob) -> None:
    def leave() -> None:
        raise SystemExit(0)

    spec = make_job(store, leave)
    assert run(backend, spec).status is JobStatus.SUCCEEDED
    assert result_of(spec)["result"] is None


def test_leaving_with_a_reason_is_a_failure_that_tells_it(backend: Backend, store: Path, make_job: MakeJob) -> None:
    def leave() -> None:
        raise SystemExit("no quota")

    spec = make_job(store, leave)
    assert run(backend, spec).status is JobStatus.FAILED
    assert "no quota" in str(result_of(spec)["exception"])


def test_a_process_that_leaves_without_a_result_failed(backend: Backend, store: Path, make_job: MakeJob) -> None:
    state = run(backend, make_job(store, lambda: os._exit(0)))
    assert (state.status, state.reason) == (JobStatus.FAILED, "exited without a result")


def test_a_process_that_leaves_with_a_code_failed_with_it(backend: Backend, store: Path, make_job: MakeJob) -> None:
    state = run(backend, make_job(store, lambda: os._exit(7)))
    assert (state.status, state.exit_code) == (JobStatus.FAILED, 7)
    assert "exited with code 7" in state.reason


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGKILL, "killed by SIGKILL, possibly out of memory"), (signal.SIGSEGV, "killed by SIGSEGV")],
)
def test_a_job_killed_by_a_signal_says_which(
    backend: Backend, store: Path, make_job: MakeJob, number: signal.Signals, reason: str
) -> None:
    state = run(backend, make_job(store, lambda number: os.kill(os.getpid(), number), int(number)))
    assert state == JobState(status=JobStatus.FAILED, reason=reason, exit_code=128 + number)


def test_what_was_printed_before_a_crash_is_in_the_log(backend: Backend, store: Path, make_job: MakeJob) -> None:
    def crash() -> None:
        print("out", end="")
        os.write(2, b"err \xff\n")
        print("naïve 日本 " + "x" * 1_000_000)
        print("last words", end="")
        os.kill(os.getpid(), signal.SIGKILL)

    spec = make_job(store, crash)
    run(backend, spec)
    log = log_of(backend, ref_of(backend, spec))
    assert f"outerr \ufffd\nnaïve 日本 {'x' * 1_000_000}\nlast words" in log
    assert log.endswith("last words")


def test_what_a_child_process_prints_is_in_the_log(backend: Backend, store: Path, make_job: MakeJob) -> None:
    def call() -> None:
        import subprocess
        import sys

        subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)

    spec = make_job(store, call)
    run(backend, spec)
    assert "from a child\n" in log_of(backend, ref_of(backend, spec))


def test_a_followed_log_has_each_byte_once_and_ends_with_the_job(
    backend: Backend, store: Path, make_job: MakeJob
) -> None:
    def talk() -> None:
        for number in range(20):
            os.write(1, b"\xe6\x97")
            time.sleep(0.005)
            os.write(1, b"\xa5 %d\n" % number)

    spec = make_job(store, talk)
    ref = backend.submit(spec)
    followed = "".join(backend.logs(ref, follow=True))
    assert "".join(f"日 {number}\n" for number in range(20)) in followed
    assert followed == log_of(backend, ref)


def test_the_tail_of_a_log_is_its_last_lines(backend: Backend, store: Path, make_job: MakeJob) -> None:
    def talk() -> None:
        for number in range(100):
            print("line", number)
        os._exit(3)

    spec = make_job(store, talk)
    run(backend, spec)
    assert "".join(backend.logs(ref_of(backend, spec), tail=2)) == "line 98\nline 99\n"


def test_events_tell_a_jobs_life_in_order_and_again_to_whoever_comes_later(
    backend: Backend, store: Path, make_job: MakeJob
) -> None:
    spec = make_job(store, lambda: 1)
    ref = backend.submit(spec)
    events = list(backend.events(ref, timeout_s=WAIT_S))
    assert [event.kind for event in events] == ["job_submitted", "job_started", "job_ended"]
    assert [event.status for event in events] == [JobStatus.PENDING, JobStatus.RUNNING, JobStatus.SUCCEEDED]
    assert {event.job_id for event in events} == {spec.job_id}
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert all(event.at.tzinfo is not None for event in events)
    assert list(backend.events(ref)) == events


def test_waiting_for_events_ends_when_the_time_is_up(
    backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path
) -> None:
    def linger(path: str) -> None:
        Path(path).write_text("running\n")
        time.sleep(WAIT_S)

    ref = backend.submit(make_job(store, linger, str(tmp_path / "told")))
    wait_for(tmp_path / "told")
    assert "job_ended" not in [event.kind for event in backend.events(ref, timeout_s=0.05)]
    assert backend.status(ref).status is JobStatus.RUNNING
    backend.cancel(ref)


def test_submitting_twice_is_one_job(backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path) -> None:
    def count(path: str) -> None:
        with Path(path).open("a") as stream:
            stream.write("ran\n")

    spec = make_job(store, count, str(tmp_path / "runs"))
    refs = [backend.submit(spec), backend.submit(spec)]
    list(backend.events(refs[0], timeout_s=WAIT_S))
    refs.append(backend.submit(spec))
    assert refs == [refs[0]] * 3
    assert backend.status(refs[0]).status is JobStatus.SUCCEEDED
    assert (tmp_path / "runs").read_text() == "ran\n"


def test_cancelling_ends_every_process_of_the_job(
    backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path
) -> None:
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


def test_processes_that_a_job_leaves_behind_end_with_it(
    backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path
) -> None:
    def leave(path: str) -> None:
        import subprocess
        import sys

        sleep = [sys.executable, "-S", "-c", f"import time; time.sleep({WAIT_S})"]
        left = [subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)]
        Path(path).write_text(" ".join(str(child.pid) for child in left) + "\n")

    spec = make_job(store, leave, str(tmp_path / "pids"))
    assert run(backend, spec).status is JobStatus.SUCCEEDED
    assert [pid for pid in map(int, wait_for(tmp_path / "pids").split()) if is_running(pid)] == []


def test_cancel_and_cleanup_succeed_when_there_is_nothing_left_to_do(
    backend: Backend, store: Path, make_job: MakeJob
) -> None:
    spec = make_job(store, lambda: 1)
    run(backend, spec)
    ref = ref_of(backend, spec)
    backend.cancel(ref)
    assert backend.status(ref).status is JobStatus.SUCCEEDED
    for _ in range(2):
        backend.cleanup(ref)
        assert backend.status(ref).status is JobStatus.NOT_FOUND
        backend.cancel(ref)
    assert list(backend.events(ref)) == []
    assert list(backend.logs(ref, follow=True)) == []


def test_cleanup_leaves_the_stores_artifacts_alone(backend: Backend, store: Path, make_job: MakeJob) -> None:
    spec = make_job(store, lambda: 1)
    run(backend, spec)
    backend.cleanup(ref_of(backend, spec))
    assert sorted(path.name for path in (store / spec.job_id).iterdir()) == ["context.zip", "payload.pkl", "result.pkl"]


def test_a_job_that_nobody_submitted_is_not_found(backend: Backend, store: Path, make_job: MakeJob) -> None:
    ref = JobRef(backend="local", job_id="job-00000000", details={"job_url": f"file://{store}/job-00000000"})
    assert backend.status(ref).status is JobStatus.NOT_FOUND
    assert list(backend.events(ref)) == []
    backend.cancel(ref)
    backend.cleanup(ref)


def test_a_reference_survives_json(backend: Backend, store: Path, make_job: MakeJob) -> None:
    spec = make_job(store, lambda: 1)
    run(backend, spec)
    ref = ref_of(backend, spec)
    assert all(isinstance(value, str) for value in ref.to_json().values())
    assert backend.status(JobRef.from_json(ref.to_json())).status is JobStatus.SUCCEEDED


def test_only_living_jobs_are_found(backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path) -> None:
    def linger(path: str) -> None:
        Path(path).write_text("running\n")
        time.sleep(WAIT_S)

    run(backend, make_job(store, lambda: 1))
    ref = backend.submit(make_job(store, linger, str(tmp_path / "told")))
    wait_for(tmp_path / "told")
    assert list(backend.find()) == [ref]
    backend.cancel(ref)
    assert list(backend.find()) == []


def test_the_function_sees_its_job_and_nothing_of_the_client(
    backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_each_job_has_a_private_workspace_of_its_own_that_is_gone_afterwards(
    backend: Backend, store: Path, make_job: MakeJob
) -> None:
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


def test_a_secret_is_in_the_functions_environment_and_nowhere_else(
    backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path
) -> None:
    def look(path: str) -> str:
        arguments = Path("/proc/self/cmdline").read_text()
        Path(path).write_text("running\n")
        return f"{os.environ['TOKEN']} {arguments}"

    spec = make_job(store, look, str(tmp_path / "told"), hidden={"TOKEN": "s3cr3t-value"})
    ref = backend.submit(spec)
    wait_for(tmp_path / "told")
    list(backend.events(ref, timeout_s=WAIT_S))
    value, _, arguments = result_of(spec)["result"].partition(" ")
    assert value == "s3cr3t-value"
    assert "s3cr3t" not in arguments
    Path(spec.result_url.removeprefix("file://")).unlink()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if b"s3cr3t" in path.read_bytes()] == []


def test_a_job_that_takes_too_long_is_ended(backend: Backend, store: Path, make_job: MakeJob) -> None:
    def linger() -> None:
        time.sleep(WAIT_S)

    state = run(backend, make_job(store, linger, timeout=1.0))
    assert (state.status, state.reason) == (JobStatus.FAILED, "timed out after 1 s")
