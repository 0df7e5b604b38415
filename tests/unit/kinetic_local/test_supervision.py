"""Deaths of all kinds: of the runner, of its supervisor, of the client."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kinetic_core.errors import SubmissionError
from kinetic_core.model.job import JobRef, JobState, JobStatus
from kinetic_local.job import Job
from kinetic_local.launch import _BOOT
from kinetic_local.pod import read_events
from kinetic_local.processes import processes_of
from tests.fakes.scripted_runner import LINGER, WAIT_S, ScriptedPod, is_running, wait_for_end, wait_until

SLEEP = "import time; time.sleep(600)"


def pids(pod: ScriptedPod, job_url: str) -> tuple[int, int]:
    """Return the process ids of the supervisor and of the runner."""
    events = {event["kind"]: event["details"] for event in read_events(f"{job_url.removeprefix('file://')}/pod")}
    return events["job_submitted"]["pid"], events["job_started"]["pid"]


def test_a_killed_supervisor_takes_its_runner_along_and_the_job_failed(pod: ScriptedPod) -> None:
    backend = pod.open()
    spec = pod.job(LINGER)
    ref = backend.submit(spec)
    pod.wait_until_running(spec)
    wait_until(lambda: backend.status(ref).status is JobStatus.RUNNING)
    supervisor, runner = pids(pod, spec.job_url)
    os.kill(supervisor, signal.SIGKILL)
    # The kernel alone does this; nobody has asked for the job's state yet.
    wait_until(lambda: not is_running(runner))
    assert [path.name for path in pod.temporary.iterdir()] != []
    assert wait_for_end(backend, ref)[-1] == "job_ended"
    assert backend.status(ref) == JobState(
        status=JobStatus.FAILED, reason="the job's supervisor was killed before the job ended"
    )
    assert list(pod.temporary.iterdir()) == []


def test_what_left_its_group_ends_too_when_somebody_looks_at_a_job_whose_supervisor_was_killed(
    pod: ScriptedPod,
) -> None:
    escape = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {SLEEP!r}], start_new_session=True)"
    )
    backend = pod.open()
    spec = pod.job(f"{escape}; {LINGER}")
    ref = backend.submit(spec)
    pod.wait_until_running(spec)
    wait_until(lambda: backend.status(ref).status is JobStatus.RUNNING)
    other = subprocess.Popen([sys.executable, "-S", "-c", SLEEP], env={"KINETIC_JOB_ID": f"{spec.job_id}0"})
    try:
        supervisor, runner = pids(pod, spec.job_url)
        (escaped,) = set(processes_of(spec.job_id)) - {runner}
        os.kill(supervisor, signal.SIGKILL)
        assert is_running(escaped)
        wait_until(lambda: backend.status(ref).status is JobStatus.FAILED)
        wait_until(lambda: not is_running(escaped))
        assert is_running(other.pid)
    finally:
        other.kill()
        other.wait()


def test_a_job_whose_supervisor_was_killed_is_not_run_again(pod: ScriptedPod) -> None:
    backend = pod.open()
    spec = pod.job(LINGER)
    ref = backend.submit(spec)
    pod.wait_until_running(spec)
    wait_until(lambda: backend.status(ref).status is JobStatus.RUNNING)
    os.kill(pids(pod, spec.job_url)[0], signal.SIGKILL)
    wait_until(lambda: backend.status(ref).status is JobStatus.FAILED)
    assert backend.submit(spec) == ref
    assert backend.status(ref).status is JobStatus.FAILED


def test_a_supervisor_killed_while_it_waits_for_its_turn_leaves_the_queue(pod: ScriptedPod) -> None:
    backend = pod.open(KINETIC_LOCAL_JOBS="1")
    first, second, third = (pod.job(LINGER, job_id=f"job-0000000{number}") for number in (1, 2, 3))
    refs = [backend.submit(spec) for spec in (first, second, third)]
    pod.wait_until_running(first)
    assert backend.status(refs[1]).status is JobStatus.PENDING
    assert "at most 1 local jobs" in backend.status(refs[1]).reason
    os.kill(read_events(str(pod.pod_of(second)))[0]["details"]["pid"], signal.SIGKILL)
    backend.cancel(refs[0])
    pod.wait_until_running(third)
    assert backend.status(refs[1]).status is JobStatus.FAILED
    assert not (pod.told / second.job_id).exists()


def test_a_supervisor_that_is_told_to_stop_ends_its_job_with_that_reason(pod: ScriptedPod) -> None:
    backend = pod.open()
    spec = pod.job(LINGER)
    ref = backend.submit(spec)
    pod.wait_until_running(spec)
    wait_until(lambda: backend.status(ref).status is JobStatus.RUNNING)
    os.kill(pids(pod, spec.job_url)[0], signal.SIGTERM)
    wait_for_end(backend, ref)
    assert backend.status(ref) == JobState(
        status=JobStatus.FAILED, reason="the job's supervisor was terminated by SIGTERM"
    )


def test_a_cancel_reaches_a_job_whose_supervisor_hangs(pod: ScriptedPod) -> None:
    backend = pod.open(grace_s=0.1)
    spec = pod.job(LINGER)
    ref = backend.submit(spec)
    pod.wait_until_running(spec)
    wait_until(lambda: backend.status(ref).status is JobStatus.RUNNING)
    supervisor, runner = pids(pod, spec.job_url)
    os.kill(supervisor, signal.SIGSTOP)
    backend.cancel(ref)
    assert backend.status(ref) == JobState(status=JobStatus.CANCELLED, reason="cancelled")
    wait_until(lambda: not is_running(runner))


def test_what_leaves_a_runner_in_its_first_millisecond_ends_with_the_job(pod: ScriptedPod) -> None:
    backend = pod.open(grace_s=0.1)
    away = pod.told / "away"
    # A shell is there before the supervisor has loaded anything more.
    script = f"(setsid sleep {2 * WAIT_S} & echo $! >{away}); exec sleep {2 * WAIT_S}"
    ref = backend.submit(pod.job("", command=["/bin/sh", "-c", script]))
    wait_until(lambda: away.exists() and away.read_text().endswith("\n"))
    escaped = int(away.read_text())
    wait_until(lambda: backend.status(ref).status is JobStatus.RUNNING)
    backend.cancel(ref)
    assert backend.status(ref).status is JobStatus.CANCELLED
    wait_until(lambda: not is_running(escaped))


def test_a_job_that_ignores_the_first_signal_is_killed_after_the_grace_period(pod: ScriptedPod) -> None:
    backend = pod.open(grace_s=1.0)
    spec = pod.job(f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {LINGER}")
    ref = backend.submit(spec)
    pod.wait_until_running(spec)
    wait_until(lambda: backend.status(ref).status is JobStatus.RUNNING)
    backend.cancel(ref)
    assert backend.status(ref).status is JobStatus.CANCELLED
    assert not is_running(pids(pod, spec.job_url)[1])


def test_a_job_that_waits_for_its_turn_is_cancelled_without_having_run(pod: ScriptedPod) -> None:
    backend = pod.open(KINETIC_LOCAL_JOBS="1")
    first, second = pod.job(LINGER), pod.job(LINGER, job_id="job-00000002")
    refs = [backend.submit(first), backend.submit(second)]
    pod.wait_until_running(first)
    backend.cancel(refs[1])
    assert backend.status(refs[1]).status is JobStatus.CANCELLED
    backend.cancel(refs[0])
    assert not (pod.told / second.job_id).exists()


def test_jobs_run_one_after_the_other_in_the_order_of_their_submission(pod: ScriptedPod) -> None:
    backend = pod.open(KINETIC_LOCAL_JOBS="1")
    note = f"import os, time; open({str(pod.folder / 'order')!r}, 'a').write(os.environ['KINETIC_JOB_ID'] + ' ')"
    refs = [backend.submit(pod.job(f"{note}; time.sleep(0.05); {note}", job_id=f"job-{n:08x}")) for n in range(5)]
    for ref in refs:
        wait_for_end(backend, ref)
    assert (pod.folder / "order").read_text().split() == [f"job-{n // 2:08x}" for n in range(10)]


def test_as_many_jobs_run_at_once_as_allowed(pod: ScriptedPod) -> None:
    backend = pod.open(KINETIC_LOCAL_JOBS="3", grace_s=0.1)
    specs = [pod.job(LINGER, job_id=f"job-{n:08x}") for n in range(4)]
    refs = [backend.submit(spec) for spec in specs]
    pod.wait_until_running(*specs[:3])
    assert backend.status(refs[3]).status is JobStatus.PENDING
    for ref in refs:
        backend.cancel(ref)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_attempt_that_the_machine_ended_is_repeated(pod: ScriptedPod, number: signal.Signals) -> None:
    backend = pod.open()
    marker = pod.folder / "tried"
    spec = pod.job(
        f"import os; p={str(marker)!r}; first = not os.path.exists(p); open(p, 'w').close();"
        f"first and os.kill(os.getpid(), {int(number)});"
        f"open({str(pod.folder / 'store' / pod.first_id / 'result.pkl')!r}, 'w')",
        retries=3,
    )
    ref = backend.submit(spec)
    kinds = wait_for_end(backend, ref)
    assert kinds == ["job_submitted", "job_started", "job_retried", "job_started", "job_ended"]
    assert backend.status(ref).status is JobStatus.SUCCEEDED


def test_no_more_attempts_are_made_than_allowed(pod: ScriptedPod) -> None:
    backend = pod.open()
    ref = backend.submit(pod.job("import os; os.kill(os.getpid(), 9)", retries=2))
    assert wait_for_end(backend, ref).count("job_started") == 3
    assert backend.status(ref).exit_code == 137


@pytest.mark.parametrize(
    "script", ["raise SystemExit(1)", "import os; os._exit(0)", "import os; os.kill(os.getpid(), 11)"]
)
def test_what_the_function_did_itself_is_not_repeated(pod: ScriptedPod, script: str) -> None:
    backend = pod.open()
    ref = backend.submit(pod.job(script, retries=2))
    assert wait_for_end(backend, ref).count("job_started") == 1


def test_the_limit_counts_for_one_attempt(pod: ScriptedPod) -> None:
    backend = pod.open(grace_s=0.1)
    ref = backend.submit(pod.job(LINGER, timeout=0.3, retries=2))
    assert wait_for_end(backend, ref).count("job_started") == 1
    assert backend.status(ref).reason == "timed out after 0.3 s"


def test_a_runner_that_cannot_be_started_is_a_failed_job_with_the_reason(pod: ScriptedPod) -> None:
    backend = pod.open()
    ref = backend.submit(pod.job("", command=["/no/such/python"], retries=1))
    assert wait_for_end(backend, ref) == ["job_submitted", "job_retried", "job_ended"]
    state = backend.status(ref)
    assert state.status is JobStatus.FAILED
    assert state.reason == "the runner could not be started: No such file or directory: /no/such/python"


def test_a_workspace_that_cannot_be_made_is_a_failed_job_with_the_reason(pod: ScriptedPod) -> None:
    backend = pod.open(TMPDIR=str(pod.folder / "soon-gone"))
    (pod.folder / "soon-gone").mkdir()
    blocked = pod.open(KINETIC_LOCAL_JOBS="1", TMPDIR=str(pod.folder / "soon-gone"))
    first = pod.job(LINGER)
    refs = [blocked.submit(first), blocked.submit(pod.job("", job_id="job-00000002"))]
    pod.wait_until_running(first)
    (pod.folder / "soon-gone").rename(pod.folder / "gone")
    backend.cancel(refs[0])
    wait_for_end(backend, refs[1])
    reason = backend.status(refs[1]).reason
    assert reason.startswith(
        f"the runner could not be started: No such file or directory: {pod.folder}/soon-gone/kinetic-"
    )
    assert reason.endswith("; set TMPDIR to a directory that you can write")


def test_a_job_whose_folder_is_deleted_while_it_runs_ends_quietly(pod: ScriptedPod) -> None:
    backend = pod.open()
    spec = pod.job(f"import os; os.rename({str(pod.folder / 'store')!r}, {str(pod.folder / 'away')!r})")
    ref = backend.submit(spec)
    wait_until(lambda: list(backend.find()) == [])
    assert backend.status(ref).status is JobStatus.NOT_FOUND
    assert not (pod.folder / "store").exists()


def test_a_job_survives_the_death_of_the_client_that_submitted_it(pod: ScriptedPod, tmp_path: Path) -> None:
    may = tmp_path / "may"
    script = f"""
import os, time
while not os.path.exists({str(may)!r}):
    time.sleep(0.01)
open("../../../store/job-00000001/result.pkl", "w")
"""
    client = (
        "import json, os, signal, sys, pytest; from pathlib import Path;"
        "from tests.fakes.scripted_runner import ScriptedPod;"
        "pod = ScriptedPod(Path(sys.argv[1]), pytest.MonkeyPatch());"
        f"spec = pod.job({script!r});"
        "print(json.dumps(pod.open().submit(spec).to_json()), flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    (tmp_path / "client").mkdir()
    path = os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])
    ended = subprocess.run(
        [sys.executable, "-c", client, str(tmp_path / "client")],
        env=os.environ | {"PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == -signal.SIGKILL
    assert ended.stderr == ""
    ref = JobRef.from_json(json.loads(ended.stdout))
    # Even from another home: the pod's folder knows where the supervisor's lock is.
    backend = pod.open()
    assert backend.status(ref).status in (JobStatus.PENDING, JobStatus.RUNNING)
    may.touch()
    wait_for_end(backend, ref)
    assert backend.status(ref).status in (JobStatus.SUCCEEDED, JobStatus.FAILED)
    assert list((tmp_path / "client/temporary").iterdir()) == []


def test_a_client_that_dies_before_it_handed_the_job_over_starts_nothing(pod: ScriptedPod) -> None:
    import kinetic_core
    import kinetic_local

    paths = [str(Path(module.__path__[0]).parent) for module in (kinetic_local, kinetic_core)]
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _BOOT, *paths],
        input=b"half a jo",
        check=True,
        capture_output=True,
    )
    assert ended.stderr == b""
    wait_until(lambda: not is_running(int(ended.stdout)))


def test_an_interpreter_that_does_not_start_is_a_submission_error(
    pod: ScriptedPod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(SubmissionError, match="cannot start /no/such/python: No such file"):
        pod.open().submit(pod.job(""))


def test_a_supervisor_that_does_not_start_is_a_submission_error_with_what_it_said(
    pod: ScriptedPod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_local.launch._BOOT", "import sys; sys.exit('no fork today')")
    spec = pod.job("")
    with pytest.raises(SubmissionError, match="no fork today"):
        pod.open().submit(spec)
    assert pod.open().status(
        JobRef(backend="local", job_id=spec.job_id, details={"job_url": spec.job_url})
    ) == JobState(status=JobStatus.NOT_FOUND, reason=f"there is no such job in {pod.pod_of(spec)}")


def test_a_job_that_could_not_be_submitted_can_be_submitted_again(
    pod: ScriptedPod, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("kinetic_local.launch._BOOT", "import sys; sys.exit('no fork today')")
        with pytest.raises(SubmissionError):
            pod.open().submit(pod.job(""))
    backend = pod.open()
    ref = backend.submit(pod.job("raise SystemExit(3)"))
    wait_for_end(backend, ref)
    assert backend.status(ref).exit_code == 3


def test_a_supervisor_that_dies_before_it_has_the_job_is_a_submission_error(
    pod: ScriptedPod, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = "import os; os.close(0); os.write(1, b'4194303\\n'); os._exit(0)"
    monkeypatch.setattr("kinetic_local.launch._BOOT", boot)
    spec = pod.job("", hidden={"TOKEN": "x" * 1_000_000})
    with pytest.raises(SubmissionError, match="cannot hand the job over: Broken pipe"):
        pod.open().submit(spec)
    assert not pod.pod_of(spec).exists()


def test_a_user_who_interrupts_while_submitting_starts_nothing(
    pod: ScriptedPod, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kinetic_local import launch

    hand_over, pids = launch._hand_over, []

    def interrupted(job: Job, pid: int, send: Callable[[bytes], None]) -> None:
        hand_over(job, pid, send)
        pids.append(pid)
        raise KeyboardInterrupt

    spec = pod.job(LINGER)
    monkeypatch.setattr(launch, "_hand_over", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pod.open().submit(spec)
    wait_until(lambda: not is_running(pids[0]))
    assert list(pod.open().find()) == []
    assert not pod.pod_of(spec).exists()


def test_a_lock_of_the_supervisor_is_no_business_of_the_runner(pod: ScriptedPod) -> None:
    script = (
        "import os, contextlib\n"
        "for number in os.listdir('/proc/self/fd'):\n"
        "    with contextlib.suppress(FileNotFoundError):\n"
        "        print(os.readlink(f'/proc/self/fd/{number}'))\n"
    )
    backend = pod.open()
    ref = backend.submit(pod.job(script))
    wait_for_end(backend, ref)
    log = "".join(backend.logs(ref))
    assert "/queue/" not in log
    assert "/live/" not in log
    assert "/dev/null" in log
