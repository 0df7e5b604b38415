"""What comes home from each way in which a job can end."""

import importlib
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kinetic.jobs.ledger import JobRecord, bury_job
from kinetic.jobs.results import collect
from kinetic_core.errors import JobCancelledError, JobFailedError, RemoteError, ResultUnavailableError
from kinetic_core.model.job import JobState, JobStatus
from kinetic_core.packaging.collecting import load_result
from kinetic_core.plugin import Storage
from kinetic_core.wire.result import Result, read_result
from kinetic_runner.travel import stand_in
from tests.fakes.quiet_backend import QuietBackend

SUCCEEDED = JobState(status=JobStatus.SUCCEEDED)
FAILED = JobState(status=JobStatus.FAILED, exit_code=137, reason="killed by SIGKILL, possibly out of memory")


def read(path: Path) -> Result:
    return read_result(pickle.loads(path.read_bytes()))


def put(store: Storage, result: Result, name: str = "result.pkl") -> None:
    store.put_bytes(pickle.dumps(result.to_dict()), f"job-0a1b2c3d/{name}")


def collected(record: JobRecord, store: Storage, state: JobState = SUCCEEDED, log: str = "") -> Any:
    return collect(record, state, store, QuietBackend(state, log), read)


def notes(error: BaseException) -> str:
    return "\n".join(error.__notes__)


def test_a_success_is_its_value_also_when_that_is_none(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=True, result=None))
    assert collected(record, store) is None


def test_a_finished_result_counts_when_the_backend_has_forgotten_the_job(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=True, result=5))
    assert collected(record, store, JobState(status=JobStatus.NOT_FOUND)) == 5


def test_the_functions_exception_is_raised_as_itself_with_job_phase_and_traceback(
    record: JobRecord, store: Storage
) -> None:
    put(store, Result(success=False, exception=KeyError("a"), traceback="Traceback: train.py", phase="execute"))
    with pytest.raises(KeyError) as caught:
        collected(record, store)
    assert "job-0a1b2c3d (train), phase 'execute'" in notes(caught.value)
    assert "Traceback: train.py" in notes(caught.value)


def test_a_missing_module_while_loading_is_raised_as_itself(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=False, exception=ModuleNotFoundError("No module named 'x'"), phase="payload unpickle"))
    with pytest.raises(ModuleNotFoundError):
        collected(record, store)


def test_a_failure_of_another_phase_names_the_phase_and_chains_the_cause(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=False, exception=OSError("disk full"), phase="context extract"))
    with pytest.raises(JobFailedError, match=r"failed in phase 'context extract': OSError: disk full") as caught:
        collected(record, store)
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize("exception", [KeyboardInterrupt("x"), SystemExit(3), GeneratorExit(), None])
def test_what_would_end_the_client_comes_home_as_a_remote_error(
    record: JobRecord, store: Storage, exception: BaseException | None
) -> None:
    put(store, Result(success=False, exception=exception, phase="execute"))
    with pytest.raises(RemoteError):
        collected(record, store)


def test_a_stand_in_of_the_pod_comes_home_as_a_remote_error_that_keeps_what_is_known(
    record: JobRecord, store: Storage
) -> None:
    exception = stand_in(DemandingError(4, "no"), "Traceback: train.py")
    put(store, Result(success=False, exception=exception, traceback="Traceback: train.py", phase="execute"))
    with pytest.raises(RemoteError, match="DemandingError: 4: no") as caught:
        collected(record, store)
    assert caught.value.type_name == f"{__name__}.DemandingError"
    assert (caught.value.message, caught.value.traceback) == ("4: no", "Traceback: train.py")
    assert pickle.loads(pickle.dumps(caught.value)).type_name == caught.value.type_name


class DemandingError(Exception):
    """Cannot be rebuilt by pickle."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(f"{code}: {detail}")


def test_a_runtime_error_of_the_functions_own_is_raised_as_itself(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=False, exception=RuntimeError("mine"), phase="execute"))
    with pytest.raises(RuntimeError, match="mine") as caught:
        collected(record, store)
    assert type(caught.value) is RuntimeError


class StubbornError(Exception):
    """Takes no note as others do."""

    __notes__ = "none"  # type: ignore[assignment]  # as careless code has it


def test_an_exception_that_takes_no_notes_comes_home_as_itself_with_notes(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=False, exception=StubbornError(3), traceback="Traceback: a.py", phase="execute"))
    with pytest.raises(StubbornError, match="3") as caught:
        collected(record, store)
    assert "Traceback: a.py" in notes(caught.value)


class NeedsThePodError(Exception):
    def __str__(self) -> str:
        raise KeyError("POD_ONLY")


class EndsNeedingThePod(SystemExit):
    __str__ = NeedsThePodError.__str__


def test_an_exception_whose_text_needs_the_pod_comes_home_as_itself(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=False, exception=NeedsThePodError(), traceback="Traceback: train.py", phase="execute"))
    with pytest.raises(NeedsThePodError) as caught:
        collected(record, store)
    assert "Traceback: train.py" in notes(caught.value)


@pytest.mark.parametrize(
    ("result", "raised"),
    [
        (Result(success=False, exception=EndsNeedingThePod(), phase="execute"), RemoteError),
        (Result(success=False, exception=NeedsThePodError(), phase="context extract"), JobFailedError),
        (
            Result(success=False, exception=NeedsThePodError(), serialization_failed=True, result_repr="x"),
            JobFailedError,
        ),
    ],
)
def test_a_text_that_needs_the_pod_is_said_to_fail(
    record: JobRecord, store: Storage, result: Result, raised: type[Exception]
) -> None:
    put(store, result)
    with pytest.raises(raised, match="its text raised KeyError here"):
        collected(record, store)


def test_a_result_that_needs_a_missing_module_names_job_artifact_and_module_and_stays(
    record: JobRecord, store: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("pod_only.py").write_text("class Model:\n    pass\n")
    with monkeypatch.context() as pod:
        pod.syspath_prepend(tmp_path)
        put(store, Result(success=True, result=importlib.import_module("pod_only").Model()))
    del sys.modules["pod_only"]
    with pytest.raises(ResultUnavailableError) as caught:
        collect(record, SUCCEEDED, store, QuietBackend(SUCCEEDED), load_result)
    message = str(caught.value)
    assert "job-0a1b2c3d (train)" in message
    assert "'pod_only'" in message
    assert f"{store.url}/job-0a1b2c3d/result.pkl" in message
    monkeypatch.syspath_prepend(tmp_path)
    assert type(collect(record, SUCCEEDED, store, QuietBackend(SUCCEEDED), load_result)).__name__ == "Model"
    del sys.modules["pod_only"]


def test_a_format_that_cannot_read_its_result_names_job_and_artifact(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=True, result=5))

    def read_badly(_: Path) -> Result:
        raise IndexError("no such column")

    with pytest.raises(ResultUnavailableError, match=r"job-0a1b2c3d .*IndexError: no such column.*job-0a1b2c3d/result"):
        collect(record, SUCCEEDED, store, QuietBackend(SUCCEEDED), read_badly)
    assert collected(record, store) == 5


def test_a_value_that_cannot_travel_is_shown_by_its_text(record: JobRecord, store: Storage) -> None:
    put(
        store,
        Result(
            success=False,
            exception=TypeError("cannot pickle lock"),
            phase="result serialization",
            serialization_failed=True,
            result_repr="<lock>",
        ),
    )
    with pytest.raises(JobFailedError, match=r"cannot travel: cannot pickle lock; it was <lock>"):
        collected(record, store)


def test_of_a_long_value_that_cannot_travel_the_beginning_is_shown(record: JobRecord, store: Storage) -> None:
    phase = "result serialization"
    put(store, Result(success=False, phase=phase, serialization_failed=True, result_repr="[" + "x" * 20_000))
    with pytest.raises(JobFailedError, match=r"it was \[x+…\. Return") as caught:
        collected(record, store)
    assert len(str(caught.value)) < 500


def test_a_job_told_to_stop_says_in_which_phase(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=False, terminated=True, phase="data resolve"))
    with pytest.raises(JobFailedError, match="told to stop while in phase 'data resolve'"):
        collected(record, store, FAILED)


def test_a_job_that_ran_out_of_time_says_so(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=False, terminated=True, phase="execute"))
    with pytest.raises(JobFailedError, match=r"in phase 'execute' \(timed out after 1 s\)"):
        collected(record, store, JobState(status=JobStatus.FAILED, reason="timed out after 1 s"))


def test_a_job_without_a_result_tells_exit_code_reason_and_the_last_thirty_lines(
    record: JobRecord, store: Storage
) -> None:
    log = "".join(f"line {number}\n" for number in range(50))
    with pytest.raises(JobFailedError) as caught:
        collected(record, store, FAILED, log)
    message = str(caught.value)
    assert "FAILED, exit code 137 (killed by SIGKILL, possibly out of memory)" in message
    assert message.count("line ") == 30
    assert "line 49" in message


def test_a_job_without_a_result_and_a_log_says_that_the_log_is_empty(record: JobRecord, store: Storage) -> None:
    with pytest.raises(JobFailedError, match="FAILED; its log is empty"):
        collected(record, store, JobState(status=JobStatus.FAILED))


def test_a_job_that_is_gone_or_was_never_started_says_so(record: JobRecord, store: Storage) -> None:
    with pytest.raises(JobFailedError, match="is gone without a result: quiet knows no such job"):
        collected(record, store, JobState(status=JobStatus.NOT_FOUND))


def test_a_cancelled_job_is_cancelled_even_when_it_had_finished(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=True, result=1))
    with pytest.raises(JobCancelledError, match=r"job-0a1b2c3d \(train\) was cancelled"):
        collected(record, store, JobState(status=JobStatus.CANCELLED))


def test_a_result_that_was_collected_says_so(record: JobRecord, store: Storage) -> None:
    bury_job(store, record)
    with pytest.raises(ResultUnavailableError, match="the result of job-0a1b2c3d was collected at"):
        collected(record, store, JobState(status=JobStatus.NOT_FOUND))


def test_a_failed_worker_fails_the_job_though_the_leader_succeeded(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=True, result=1))
    for index in (10, 2):
        put(
            store,
            Result(success=False, exception=ValueError(f"host {index}"), phase="execute", host_index=index),
            f"result-worker-{index}.pkl",
        )
    with pytest.raises(ValueError, match="host 2") as caught:
        collected(record, store)
    assert "also failed: host 10" in notes(caught.value)


def test_the_leaders_failure_comes_before_the_workers(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=False, exception=ValueError("host 0"), phase="execute"))
    put(
        store,
        Result(success=False, exception=ValueError("host 1"), phase="execute", host_index=1),
        "result-worker-1.pkl",
    )
    with pytest.raises(ValueError, match="host 0") as caught:
        collected(record, store)
    assert "also failed: host 1" in notes(caught.value)


def test_a_leader_that_vanished_gives_way_to_a_workers_error(record: JobRecord, store: Storage) -> None:
    put(
        store,
        Result(success=False, exception=ValueError("host 3"), phase="execute", host_index=3),
        "result-worker-3.pkl",
    )
    with pytest.raises(ValueError, match="host 3"):
        collected(record, store, FAILED)


def test_results_of_another_format_are_not_opened(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=True, result=1))
    store.put_bytes(b"not a pickle", "job-0a1b2c3d/result-worker-1.json")
    assert collected(record, store) == 1


STOPPED = Result(success=False, exception=RuntimeError("told to stop"), phase="execute", terminated=True)
HOST_2_DIED = JobState(status=JobStatus.FAILED, reason="host 2: killed by SIGKILL", exit_code=137, failed_host=2)


def test_a_host_that_was_stopped_because_another_failed_is_no_failure(record: JobRecord, store: Storage) -> None:
    put(store, STOPPED)
    put(store, replace(STOPPED, host_index=1), "result-worker-1.pkl")
    put(store, Result(success=False, exception=LookupError("x"), phase="execute", host_index=2), "result-worker-2.pkl")
    with pytest.raises(LookupError) as caught:
        collected(record, store, HOST_2_DIED)
    assert "on host 2" in notes(caught.value)
    assert "also failed" not in notes(caught.value)


@pytest.mark.parametrize("leader", [Result(success=True, result=7), STOPPED])
def test_a_host_that_died_is_told_in_its_own_words_whatever_the_others_recorded(
    record: JobRecord, store: Storage, leader: Result
) -> None:
    put(store, leader)
    with pytest.raises(JobFailedError, match=r"FAILED, exit code 137 \(host 2: killed by SIGKILL\)\n.*\nof host 2"):
        collected(record, store, HOST_2_DIED)


def test_a_host_that_an_earlier_attempt_stopped_does_not_spoil_a_success(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=True, result=7))
    put(store, replace(STOPPED, host_index=1), "result-worker-1.pkl")
    assert collected(record, store) == 7


def test_a_result_in_a_directory_is_read_where_it_lies(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=True, result=5))
    seen: list[Path] = []

    def look(path: Path) -> Result:
        seen.append(path)
        return read(path)

    assert collect(record, SUCCEEDED, store, QuietBackend(SUCCEEDED), look) == 5
    assert [f"file://{path}" for path in seen] == [store.url_of("job-0a1b2c3d/result.pkl")]


def test_a_result_that_another_collects_while_it_is_opened_was_collected(record: JobRecord, store: Storage) -> None:
    put(store, Result(success=True, result=5))

    def late(path: Path) -> Result:
        bury_job(store, record)
        return read(path)

    with pytest.raises(ResultUnavailableError, match="was collected at"):
        collect(record, SUCCEEDED, store, QuietBackend(SUCCEEDED), late)


def test_a_long_line_of_the_log_does_not_bury_how_the_job_ended(record: JobRecord, store: Storage) -> None:
    with pytest.raises(JobFailedError, match="possibly out of memory") as caught:
        collected(record, store, FAILED, "x" * 3_000_000 + "\nlast words\n")
    assert "last words" in str(caught.value)
    assert len(str(caught.value)) < 3_000
