"""What a client sees of a job that is elsewhere, or whose ids mean something else now."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kinetic_core.model.job import JobRef, JobStatus
from kinetic_local.job import Job
from kinetic_local.locks import try_lock
from kinetic_local.places import Places
from kinetic_local.pod import append_event, open_events, read_events, remove_pod
from kinetic_local.processes import start_mark
from kinetic_local.state import Watch
from tests.fakes.scripted_runner import LINGER, ScriptedPod, wait_for_end, wait_until


def ref_to(folder: Path, **details: str) -> JobRef:
    return JobRef(backend="local", job_id="job-00000001", details={"job_url": f"file://{folder}", **details})


def submitted(folder: Path, *, pid: int, mark: str) -> Path:
    """Make a pod's folder that says that a job was submitted and runs."""
    (folder / "pod").mkdir(parents=True)
    events = open_events(f"{folder}/pod")
    paths = {"live": f"{folder}/live", "ticket": f"{folder}/ticket", "folder": f"{folder}/user-data"}
    append_event(events, "job_submitted", "PENDING", "", pid=pid, mark=mark, limit=1, **paths)
    append_event(events, "job_started", "RUNNING", pid=pid, mark=mark, attempt=1)
    os.close(events)
    return folder / "pod"


def test_a_process_that_has_a_dead_supervisors_id_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "user-data-1").mkdir()
    with subprocess.Popen(
        [sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    ) as other:
        submitted(tmp_path, pid=other.pid, mark="the mark of another time")
        watch = Watch(ref_to(tmp_path), Places(home=tmp_path))
        assert not watch.signal_supervisor(signal.SIGKILL)
        assert watch.state().status is JobStatus.FAILED
        assert other.poll() is None
    # Nor is a folder that no supervisor can have made.
    assert (tmp_path / "user-data-1").is_dir()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux waits for a process that is no child")
def test_what_a_supervisor_says_of_an_end_ends_a_wait_before_its_own_end_does(tmp_path: Path) -> None:
    submitted(tmp_path, pid=os.getpid(), mark=start_mark(os.getpid()))
    lock = try_lock(f"{tmp_path}/live")
    assert lock is not None
    ours, theirs = socket.socketpair(type=socket.SOCK_DGRAM)
    watch = Watch(ref_to(tmp_path), Places(home=tmp_path))
    with theirs, ours:
        ours.setblocking(False)
        theirs.send(b"1")
        theirs.send(b"1")
        watch.wait(600, ours)
        with pytest.raises(BlockingIOError):
            ours.recv(1)
    watch.wait(0, ours)
    os.close(lock)


def test_a_job_of_another_machine_is_seen_as_its_folder_tells(tmp_path: Path) -> None:
    submitted(tmp_path, pid=os.getpid(), mark="x")
    watch = Watch(ref_to(tmp_path, machine="elsewhere"), Places(home=tmp_path))
    assert not watch.is_here
    assert watch.state().status is JobStatus.RUNNING
    assert [event["kind"] for event in read_events(watch.pod)] == ["job_submitted", "job_started"]


def test_a_job_of_another_machine_that_left_nothing_here_says_where_it_was(tmp_path: Path) -> None:
    state = Watch(ref_to(tmp_path, machine="elsewhere"), Places(home=tmp_path)).state()
    assert state.status is JobStatus.NOT_FOUND
    assert "it was submitted on elsewhere" in state.reason


def test_cancelling_a_job_of_another_machine_says_where_to_do_it(pod: ScriptedPod) -> None:
    submitted(pod.folder / "far", pid=os.getpid(), mark="x")
    pod.open().cancel(ref_to(pod.folder / "far", machine="elsewhere"))
    assert [(record.event, record.details["machine"]) for record in pod.log.records] == [("job_elsewhere", "elsewhere")]


def test_waiting_for_a_job_of_another_machine_returns(tmp_path: Path) -> None:
    submitted(tmp_path, pid=os.getpid(), mark="x")
    watch = Watch(ref_to(tmp_path, machine="elsewhere"), Places(home=tmp_path))
    watch.wait(0.001)
    assert watch.state().status is JobStatus.RUNNING


def test_a_folder_of_another_user_is_only_read(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a folder of another user")
    folder = submitted(tmp_path, pid=os.getpid(), mark="x")
    os.chown(folder, 65534, -1)
    assert Watch(ref_to(tmp_path), Places(home=tmp_path)).state().status is JobStatus.RUNNING
    assert len(read_events(str(folder))) == 2


def test_the_machine_is_part_of_the_reference_and_the_handle_needs_no_more_than_the_folder(pod: ScriptedPod) -> None:
    backend = pod.open()
    ref = backend.submit(pod.job("print('hello')"))
    assert ref.details == {"job_url": f"{pod.store_url}/{pod.first_id}", "machine": socket.gethostname()}
    wait_for_end(backend, ref)
    bare = JobRef(backend="local", job_id=ref.job_id, details={"job_url": ref.details["job_url"]})
    assert backend.status(bare) == backend.status(ref)
    assert "".join(backend.logs(bare)) == "hello\n"


def test_a_job_whose_store_is_elsewhere_keeps_its_log_at_home(pod: ScriptedPod) -> None:
    backend = pod.open()
    ref = backend.submit(pod.job("print('hello')", store="gs://bucket"))
    wait_for_end(backend, ref)
    assert backend.status(ref).status is JobStatus.SUCCEEDED
    assert (pod.home / f".kinetic/local/{pod.first_id}/log").read_text() == "hello\n"
    backend.cleanup(ref)
    assert not (pod.home / f".kinetic/local/{pod.first_id}").exists()


def test_cleaning_up_a_running_job_ends_it(pod: ScriptedPod) -> None:
    backend = pod.open(grace_s=0.1)
    spec = pod.job(LINGER)
    ref = backend.submit(spec)
    pod.wait_until_running(spec)
    backend.cleanup(ref)
    assert backend.status(ref).status is JobStatus.NOT_FOUND
    assert list(backend.find()) == []


def test_cleaning_up_removes_nothing_but_what_a_job_wrote(tmp_path: Path) -> None:
    for name in ("log", "events.jsonl", "cancel", "precious"):
        (tmp_path / name).touch()
    remove_pod(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_line_that_is_no_event_is_passed_over(tmp_path: Path) -> None:
    event = {"kind": "a", "at_s": 1, "status": "RUNNING", "reason": "", "details": {}}
    (tmp_path / "events.jsonl").write_text(json.dumps(event) + "\nhalf a li")
    assert read_events(str(tmp_path)) == [event]


def test_a_dead_job_that_nobody_looked_at_is_settled_by_whoever_looks_for_jobs(pod: ScriptedPod) -> None:
    backend = pod.open()
    spec = pod.job(LINGER)
    ref = backend.submit(spec)
    pod.wait_until_running(spec)
    wait_until(lambda: backend.status(ref).status is JobStatus.RUNNING)
    os.kill(read_events(str(pod.pod_of(spec)))[0]["details"]["pid"], signal.SIGKILL)
    wait_until(lambda: list(backend.find()) == [])
    assert [event["status"] for event in read_events(str(pod.pod_of(spec)))][-1] == "FAILED"
    assert list(pod.temporary.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"job_id": "x"}'])
def test_a_damaged_file_among_the_living_jobs_harms_no_other(pod: ScriptedPod, content: str) -> None:
    live = pod.home / ".kinetic/local/live"
    live.mkdir(parents=True)
    (live / "job-damaged").write_text(content)
    assert list(pod.open().find()) == []
    assert list(live.iterdir()) == []


def test_a_file_of_a_job_that_ended_is_removed_when_jobs_are_looked_for(pod: ScriptedPod) -> None:
    backend = pod.open()
    ref = backend.submit(pod.job(""))
    wait_for_end(backend, ref)
    wait_until(lambda: not (pod.home / f".kinetic/local/live/{pod.first_id}").exists())
    (pod.home / f".kinetic/local/live/{pod.first_id}").write_text(json.dumps(ref.to_json()))
    assert list(backend.find()) == []
    assert list((pod.home / ".kinetic/local/live").iterdir()) == []


def test_looking_for_jobs_before_there_were_any_finds_none(pod: ScriptedPod) -> None:
    assert list(pod.open().find()) == []
    assert not (pod.home / ".kinetic").exists()


def test_a_job_that_is_not_whole_is_no_job() -> None:
    assert Job.from_bytes(b"") is None
    assert Job.from_bytes(b"half") is None


def test_a_platform_without_process_descriptors_waits_by_the_clock(
    pod: ScriptedPod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    backend = pod.open()
    ref = backend.submit(pod.job("raise SystemExit(5)"))
    wait_for_end(backend, ref)
    assert backend.status(ref).exit_code == 5


def test_a_home_that_cannot_be_written_is_a_submission_error(pod: ScriptedPod) -> None:
    from kinetic_core.errors import SubmissionError

    (pod.home / ".kinetic").touch()
    with pytest.raises(SubmissionError, match=r"cannot make .*\.kinetic"):
        pod.open().submit(pod.job(""))


def test_a_job_that_somebody_else_is_submitting_is_left_to_him(pod: ScriptedPod) -> None:
    from kinetic_local.locks import try_lock
    from kinetic_local.places import make_private

    live = Places(home=pod.home).live_file(pod.first_id)
    make_private(live.parent)
    lock = try_lock(str(live))
    assert lock is not None
    backend = pod.open()
    ref = backend.submit(pod.job("print('never')"))
    assert backend.status(ref).status is JobStatus.PENDING
    assert backend.status(ref).reason == "starting"
    live.unlink()
    os.close(lock)
    assert backend.status(ref).status is JobStatus.NOT_FOUND
