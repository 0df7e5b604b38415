"""What every backend promises, asked with the real runner."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from kinetic.testing.contract import Contract
from kinetic.testing.jobs import make_job as make_any_job
from kinetic.testing.jobs import result_of
from kinetic.testing.log import RecordingLog
from kinetic_core.model.job import JobRef, JobSpec, JobState, JobStatus
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import Backend, BackendDriver, Capability, DriverContext

MakeJob = Callable[..., JobSpec]
WAIT_S: Final = 60
"""How long a job may take."""


def run(backend: Backend, spec: JobSpec) -> JobState:
    """Run the job to its end."""
    ref = backend.submit(spec)
    list(backend.events(ref, timeout_s=WAIT_S))
    return backend.status(ref)


def log_of(backend: Backend, ref: JobRef) -> str:
    """Return the whole log."""
    return "".join(backend.logs(ref))


def ref_of(backend: Backend, spec: JobSpec) -> JobRef:
    """Return the reference to a job that was submitted before."""
    return backend.submit(spec)


def wait_for(path: Path) -> str:
    """Wait until a job has written a whole line to a file; return it."""
    deadline_s = time.monotonic() + WAIT_S
    while not path.exists() or not path.read_text(encoding="utf-8").endswith("\n"):
        assert time.monotonic() < deadline_s, f"{path} was never written"
        time.sleep(0.01)
    return path.read_text(encoding="utf-8").strip()


class BackendContract(Contract):
    """Override `driver`, and `context` where the backend needs more of its surroundings.

    The backend must run jobs whose artifacts lie in a `file://` store of this machine.

    ```python
    class TestMine(BackendContract):
        @pytest.fixture
        def driver(self):
            return DRIVER
    ```
    """

    blocks: ClassVar[bool] = False
    """`submit` returns when the job has ended, so no job can be looked at while it runs."""

    @pytest.fixture
    def driver(self) -> BackendDriver:
        """Return the driver under contract."""
        raise NotImplementedError("override the fixture `driver`: return the BackendDriver of your plugin")

    @pytest.fixture
    def context(self, tmp_path: Path) -> DriverContext:
        """Return what the driver is opened with: a home of this test's own."""
        home, temp = tmp_path / "home", tmp_path / "temp"
        home.mkdir(exist_ok=True)
        temp.mkdir(exist_ok=True)
        environ = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(temp), "UNWANTED": "leak"}
        return DriverContext(log=RecordingLog(), environ=environ, home=home)

    @pytest.fixture
    def backend(self, driver: BackendDriver, context: DriverContext) -> Iterator[Backend]:
        """Give the opened backend; what still lives in the end is cancelled."""
        opened = driver.open(context)
        yield opened
        for ref in opened.find():
            opened.cancel(ref)

    @pytest.fixture
    def store(self, tmp_path: Path) -> Path:
        """Return the directory of the store."""
        return tmp_path / "store"

    @pytest.fixture
    def job_options(self) -> Mapping[str, Any]:
        """Return options of `RunOptions` that every job of this backend needs, such as an image."""
        return {}

    @pytest.fixture
    def make_job(self, job_options: Mapping[str, Any]) -> MakeJob:
        """Give what makes a job by hand, which the backend takes."""
        return partial(make_any_job, **job_options)

    @pytest.fixture
    def running(self) -> None:
        """Skip where no job can be looked at while it runs."""
        if self.blocks:
            pytest.skip("submit returns when the job has ended")

    def test_its_own_store_has_a_url(self, backend: Backend, job_options: Mapping[str, Any]) -> None:
        assert "://" in backend.default_storage(RunOptions(accelerator="cpu", **job_options))

    def test_a_value_comes_home(self, backend: Backend, store: Path, make_job: MakeJob) -> None:
        spec = make_job(store, lambda a, b: {"sum": a + b}, 2, 3)
        assert run(backend, spec).status is JobStatus.SUCCEEDED
        assert result_of(spec)["result"] == {"sum": 5}

    def test_a_functions_exception_is_a_failed_job_with_a_record(
        self, backend: Backend, store: Path, make_job: MakeJob
    ) -> None:
        def fail() -> None:
            raise LookupError("no such thing")

        spec = make_job(store, fail)
        assert run(backend, spec).status is JobStatus.FAILED
        assert isinstance(result_of(spec)["exception"], LookupError)

    def test_a_process_that_leaves_with_a_code_failed(self, backend: Backend, store: Path, make_job: MakeJob) -> None:
        state = run(backend, make_job(store, lambda: os._exit(7)))
        assert state.status is JobStatus.FAILED
        assert state.exit_code in {7, None}

    def test_events_end_with_how_the_job_ended_and_come_again_to_whoever_asks_later(
        self, backend: Backend, store: Path, make_job: MakeJob
    ) -> None:
        spec = make_job(store, lambda: 1)
        ref = backend.submit(spec)
        events = list(backend.events(ref, timeout_s=WAIT_S))
        assert (events[-1].kind, events[-1].status) == ("job_ended", JobStatus.SUCCEEDED)
        assert {event.job_id for event in events} == {spec.job_id}
        assert [event.at for event in events] == sorted(event.at for event in events)
        assert all(event.at.tzinfo is not None for event in events)
        assert list(backend.events(ref)) == events

    def test_the_function_sees_its_job_and_its_files_and_nothing_of_the_client(
        self, backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PYTHONPATH", "/nowhere/of/the/client")
        monkeypatch.setenv("UNWANTED", "leak")

        def look() -> dict[str, Any]:
            import sys

            files = [path.name for path in Path.cwd().iterdir()]
            return {"environ": dict(os.environ), "path": sys.path, "cwd": str(Path.cwd()), "files": files}

        spec = make_job(store, look)
        assert run(backend, spec).status is JobStatus.SUCCEEDED
        seen = result_of(spec)["result"]
        assert seen["environ"]["KINETIC_JOB_ID"] == spec.job_id
        assert seen["environ"]["KINETIC_OUTPUT_DIR"] == spec.output_dir
        assert "UNWANTED" not in seen["environ"]
        assert "/nowhere/of/the/client" not in seen["path"]
        assert seen["cwd"] != str(tmp_path)
        assert "notes.txt" in seen["files"]

    def test_a_job_that_was_cancelled_says_so(
        self, backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path, running: None
    ) -> None:
        def linger(path: str) -> None:
            Path(path).write_text("running\n", encoding="utf-8")
            time.sleep(WAIT_S)

        ref = backend.submit(make_job(store, linger, str(tmp_path / "told")))
        wait_for(tmp_path / "told")
        backend.cancel(ref)
        assert list(backend.events(ref, timeout_s=WAIT_S))[-1].kind == "job_ended"
        assert backend.status(ref).status is JobStatus.CANCELLED

    def test_an_array_is_one_call_and_each_job_of_it_runs_once(
        self, driver: BackendDriver, backend: Any, store: Path, make_job: MakeJob, tmp_path: Path
    ) -> None:
        if Capability.ARRAYS not in driver.capabilities:
            pytest.skip("the driver does not announce arrays")
        assert list(backend.submit_many([])) == []

        def count(number: int, path: str) -> int:
            with Path(path).open("a", encoding="utf-8") as stream:
                stream.write(f"{number}\n")
            return number

        specs = [make_job(store, count, number, str(tmp_path / "runs")) for number in range(3)]
        refs = backend.submit_many(specs, max_concurrent=2)
        assert [ref.job_id for ref in refs] == [spec.job_id for spec in specs]
        assert backend.submit_many(specs) == refs
        for ref in refs:
            list(backend.events(ref, timeout_s=WAIT_S))
        assert [backend.status(ref).status for ref in refs] == [JobStatus.SUCCEEDED] * 3
        assert [result_of(spec)["result"] for spec in specs] == [0, 1, 2]
        assert sorted((tmp_path / "runs").read_text(encoding="utf-8").split()) == ["0", "1", "2"]

    def test_leaving_with_success_is_success_with_none(self, backend: Backend, store: Path, make_job: MakeJob) -> None:
        def leave() -> None:
            raise SystemExit(0)

        spec = make_job(store, leave)
        assert run(backend, spec).status is JobStatus.SUCCEEDED
        assert result_of(spec)["result"] is None

    def test_leaving_with_a_reason_is_a_failure_that_tells_it(
        self, backend: Backend, store: Path, make_job: MakeJob
    ) -> None:
        def leave() -> None:
            raise SystemExit("no quota")

        spec = make_job(store, leave)
        assert run(backend, spec).status is JobStatus.FAILED
        assert "no quota" in str(result_of(spec)["exception"])

    def test_what_was_printed_before_a_crash_is_in_the_log(
        self, backend: Backend, store: Path, make_job: MakeJob
    ) -> None:
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

    def test_what_a_child_process_prints_is_in_the_log(self, backend: Backend, store: Path, make_job: MakeJob) -> None:
        def call() -> None:
            import subprocess
            import sys

            subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)

        spec = make_job(store, call)
        run(backend, spec)
        assert "from a child\n" in log_of(backend, ref_of(backend, spec))

    def test_a_followed_log_has_each_byte_once_and_ends_with_the_job(
        self, backend: Backend, store: Path, make_job: MakeJob
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

    def test_the_tail_of_a_log_is_its_last_lines(self, backend: Backend, store: Path, make_job: MakeJob) -> None:
        def talk() -> None:
            for number in range(100):
                print("line", number)
            os._exit(3)

        spec = make_job(store, talk)
        run(backend, spec)
        assert "".join(backend.logs(ref_of(backend, spec), tail=2)) == "line 98\nline 99\n"

    def test_waiting_for_events_ends_when_the_time_is_up(
        self, backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path, running: None
    ) -> None:
        def linger(path: str) -> None:
            Path(path).write_text("running\n")
            time.sleep(WAIT_S)

        ref = backend.submit(make_job(store, linger, str(tmp_path / "told")))
        wait_for(tmp_path / "told")
        assert "job_ended" not in [event.kind for event in backend.events(ref, timeout_s=0.05)]
        assert backend.status(ref).status is JobStatus.RUNNING
        backend.cancel(ref)

    def test_submitting_twice_is_one_job(
        self, backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path
    ) -> None:
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

    def test_cancel_and_cleanup_succeed_when_there_is_nothing_left_to_do(
        self, backend: Backend, store: Path, make_job: MakeJob
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

    def test_cleanup_leaves_the_stores_artifacts_alone(self, backend: Backend, store: Path, make_job: MakeJob) -> None:
        spec = make_job(store, lambda: 1)
        run(backend, spec)
        backend.cleanup(ref_of(backend, spec))
        assert sorted(path.name for path in (store / spec.job_id).iterdir()) == [
            "context.zip",
            "payload.pkl",
            "result.pkl",
        ]

    def test_a_reference_survives_json(self, backend: Backend, store: Path, make_job: MakeJob) -> None:
        spec = make_job(store, lambda: 1)
        run(backend, spec)
        ref = ref_of(backend, spec)
        assert all(isinstance(value, str) for value in ref.to_json().values())
        assert backend.status(JobRef.from_json(ref.to_json())).status is JobStatus.SUCCEEDED

    def test_only_living_jobs_are_found(
        self, backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path, running: None
    ) -> None:
        def linger(path: str) -> None:
            Path(path).write_text("running\n")
            time.sleep(WAIT_S)

        run(backend, make_job(store, lambda: 1))
        ref = backend.submit(make_job(store, linger, str(tmp_path / "told")))
        wait_for(tmp_path / "told")
        assert list(backend.find()) == [ref]
        backend.cancel(ref)
        assert list(backend.find()) == []

    def test_a_secret_is_in_the_functions_environment_and_nowhere_else(
        self, driver: BackendDriver, backend: Backend, store: Path, make_job: MakeJob, tmp_path: Path
    ) -> None:
        if Capability.SECRETS not in driver.capabilities:
            pytest.skip("the driver does not announce secrets")

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
