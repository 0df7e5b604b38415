"""A list of events that is damaged: what can be read counts, and the job stays."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from kinetic_core.model.job import JobRef, JobStatus
from kinetic_local.pod import append_event, hosts_of, open_events, read_events, read_lines
from tests.fakes.scripted_runner import LINGER, ScriptedPod, is_running, wait_for_end, wait_until

# As a runner that succeeded does.
SUCCEED = "import os; open(f'../../store/{os.environ[\"KINETIC_JOB_ID\"]}/result.pkl', 'w').close()"
OTHERS = [b"null", b"[]", b'{"kind": "job_started"}', b'{"status": "LOST"}', b"\xff\x00", b""]


def job_id() -> str:
    """Return one that no job of another test has: who settles a job ends all processes with its id."""
    return f"job-{secrets.token_hex(4)}"


def damage(folder: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    file = folder / "events.jsonl"
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))


@pytest.fixture
def ended(pod: ScriptedPod) -> tuple[JobRef, Path]:
    backend, spec = pod.open(), pod.job(SUCCEED, job_id=job_id())
    ref = backend.submit(spec)
    wait_for_end(backend, ref)
    assert backend.status(ref).status is JobStatus.SUCCEEDED
    return ref, pod.pod_of(spec)


@pytest.mark.parametrize("at", [0, 1])
def test_what_was_told_before_the_end_does_not_matter_any_more(
    pod: ScriptedPod, ended: tuple[JobRef, Path], at: int
) -> None:
    ref, folder = ended
    damage(folder, lambda lines: [*lines[:at], b"#" + lines[at], *lines[at + 1 :]])
    backend = pod.open()
    assert backend.status(ref).status is JobStatus.SUCCEEDED
    assert len(list(backend.events(ref))) == 2
    backend.cancel(ref)
    assert backend.status(ref).status is JobStatus.SUCCEEDED
    assert pod.log.events("warning") == ["events_damaged"]


@pytest.mark.parametrize("change", [lambda lines: [*lines[:-1], lines[-1][:20]], lambda lines: [b"#\n"] * 3])
def test_an_end_that_is_lost_is_told_as_lost_and_once(
    pod: ScriptedPod, ended: tuple[JobRef, Path], change: Callable[[list[bytes]], list[bytes]]
) -> None:
    ref, folder = ended
    damage(folder, change)
    for _ in range(2):
        state = pod.open().status(ref)
        assert state.status is JobStatus.FAILED
        assert [event["kind"] for event in read_events(str(folder))].count("job_ended") == 1
    assert len(list(pod.open().events(ref))) >= 1


def test_a_job_is_not_started_once_more_because_nothing_can_be_read_of_it(
    pod: ScriptedPod, ended: tuple[JobRef, Path]
) -> None:
    ref, folder = ended
    damage(folder, lambda lines: [b"#\n"])
    backend = pod.open()
    backend.submit(pod.job(SUCCEED, job_id=ref.job_id))
    assert list(backend.find()) == []
    assert "job_started" not in [event["kind"] for event in read_events(str(folder))]
    assert "is damaged, so how it ended is not known" in backend.status(ref).reason


def test_a_job_that_runs_is_found_and_can_be_cancelled(pod: ScriptedPod) -> None:
    backend, spec = pod.open(grace_s=0.1), pod.job(LINGER, job_id=job_id())
    ref = backend.submit(spec)
    pod.wait_until_running(spec)
    wait_until(lambda: len(read_events(str(pod.pod_of(spec)))) == 2)
    (submitted, _) = read_events(str(pod.pod_of(spec)))
    damage(pod.pod_of(spec), lambda lines: [b"#" + lines[0], *lines[1:]])
    assert backend.status(ref).status is JobStatus.RUNNING
    # Its runner tells whose it is.
    backend.cancel(ref)
    assert backend.status(ref).status is JobStatus.CANCELLED
    assert not is_running(submitted["details"]["pid"])


def test_lines_that_are_json_and_no_event_count_as_damaged(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"".join(line + b"\n" for line in OTHERS))
    assert read_lines(str(tmp_path)) == ([], len(OTHERS))


def test_a_line_that_is_cut_off_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b'{"kind": "job_su')
    assert read_lines(str(tmp_path)) == ([], 0)
    for _ in range(2):
        events = open_events(str(tmp_path))
        append_event(events, "job_ended", "FAILED")
        os.close(events)
    assert [event["kind"] for event in read_events(str(tmp_path))] == ["job_ended", "job_ended"]
    assert read_lines(str(tmp_path))[1] == 1


def test_which_hosts_failed_by_themselves_is_told(pod: ScriptedPod, ended: tuple[JobRef, Path]) -> None:
    ref, folder = ended
    events = open_events(str(folder))
    append_event(events, "job_ended", "FAILED", "host 1: gone", failed_host=1, also_failed="2,3")
    os.close(events)
    state = pod.open().status(ref)
    assert (state.failed_host, state.also_failed) == (1, (2, 3))


def test_how_many_hosts_there_were_is_told_by_those_that_started(tmp_path: Path) -> None:
    events = open_events(str(tmp_path))
    append_event(events, "job_started", "RUNNING", pid=1, mark="", attempt=1)
    for host in (1, 2):
        append_event(events, "host_started", "RUNNING", pid=1, mark="", attempt=1, host=host)
    os.close(events)
    assert hosts_of(str(tmp_path)) == 3
