"""What objects of a cluster say about a job, where no cluster of ours says it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kinetic_core.model.job import JobState, JobStatus
from kinetic_gke.diagnosis.ending import departed, pod_failure
from kinetic_gke.diagnosis.look import Look, look_at
from kinetic_gke.diagnosis.mark import Mark, ending_patch, index_patch, mark_of
from kinetic_gke.diagnosis.state import history, is_over, state_of
from kinetic_gke.diagnosis.waiting import hopeless, wants_news

CREATED = "2026-11-30T02:00:00Z"
AT = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)


def job(*conditions: dict[str, str], spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    held = [{"status": "True", "lastTransitionTime": "2026-11-30T02:10:00Z", **one} for one in conditions]
    return {
        "metadata": {"name": "kinetic-job-0a1b2c3d", "uid": "j", "creationTimestamp": CREATED},
        "spec": spec or {},
        "status": {"conditions": held, **status},
    }


def pod(
    state: dict[str, Any] | None = None,
    *conditions: dict[str, str],
    name: str = "a",
    index: int | None = None,
    **status: Any,
) -> dict[str, Any]:
    statuses = [] if state is None else [{"name": "kinetic-worker", "image": "img:1", "state": state}]
    annotations = {} if index is None else {"batch.kubernetes.io/job-completion-index": str(index)}
    held = [{"status": "True", **one} for one in conditions]
    return {
        "metadata": {"name": name, "uid": name, "creationTimestamp": CREATED, "annotations": annotations},
        "spec": {"activeDeadlineSeconds": 60, "containers": [{"name": "kinetic-worker"}]},
        "status": {"phase": "Pending", "containerStatuses": statuses, "conditions": held, **status},
    }


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return pod({"waiting": {"reason": reason, "message": message}})


def ended(code: int, **more: Any) -> dict[str, Any]:
    return pod({"terminated": {"exitCode": code, "startedAt": CREATED, "finishedAt": CREATED, **more}}, phase="Failed")


def event(reason: str, message: str, at: str | None, **more: Any) -> dict[str, Any]:
    return {"reason": reason, "message": message, "lastTimestamp": at, "involvedObject": {"uid": "a"}, **more}


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (job(), JobState(status="PENDING")),
        (job(spec={"suspend": True}), JobState(status="PENDING", reason="suspended")),
        (job({"type": "FailureTarget"}), JobState(status="PENDING")),
        (job({"type": "Complete"}), JobState(status="SUCCEEDED", exit_code=0)),
        (
            job({"type": "Failed", "reason": "BackoffLimitExceeded", "message": "too often"}),
            JobState(
                status="FAILED",
                reason="a pod of it is gone, deleted from outside or with its node, and is not there to say why "
                "(BackoffLimitExceeded)",
            ),
        ),
        (
            job({"type": "Failed", "reason": "DeadlineExceeded", "message": "active longer than its deadline"}),
            JobState(status="FAILED", reason="DeadlineExceeded: active longer than its deadline"),
        ),
        (job({"type": "Failed"}), JobState(status="FAILED", reason="it failed, and no pod is left")),
    ],
)
def test_a_job_without_pods_says_what_it_can(found: dict[str, Any], state: JobState) -> None:
    assert state_of(look_at(found, ())) == state


def test_a_job_that_is_about_to_fail_still_runs() -> None:
    running = pod({"running": {"startedAt": CREATED}}, phase="Running")
    look = look_at(job({"type": "FailureTarget"}), [running])
    assert state_of(look).status is JobStatus.RUNNING
    assert not is_over(look)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (ended(3), "exited with code 3"),
        (ended(139), "killed by SIGSEGV"),
        (ended(137), "killed by SIGKILL, possibly out of memory"),
        (ended(137, reason="OOMKilled"), "OOMKilled: it used more memory than its node had to spare"),
        (ended(255), "exited with code 255"),
        (ended(128, reason="StartError", message="no such file"), "its command could not be started: no such file"),
        (pod(phase="Failed", reason="UnexpectedAdmissionError", message="no"), "UnexpectedAdmissionError: no"),
        (pod(phase="Failed"), "its pod failed before it ran"),
        (pod(phase="Failed", reason="DeadlineExceeded"), "timed out after 60 s"),
        (pod(None, {"type": "DisruptionTarget", "reason": "Other"}, phase="Failed"), "disrupted: Other"),
        (departed(pod({"running": {"startedAt": CREATED}}, phase="Running")), "its pod was deleted from outside"),
        (
            pod(
                phase="Failed",
                initContainerStatuses=[
                    {"name": "kinetic-runner", "state": {"terminated": {"exitCode": 1, "message": "no module"}}}
                ],
            ),
            "its container 'kinetic-runner' exited with code 1: no module",
        ),
    ],
)
def test_a_failed_pod_says_why(found: dict[str, Any], reason: str) -> None:
    state = pod_failure(found)
    assert state is not None
    assert state.reason.startswith(reason)


def test_a_pod_that_runs_or_ended_well_has_not_failed() -> None:
    good = pod({"terminated": {"exitCode": 0}}, phase="Succeeded")
    assert pod_failure(good) is None
    assert departed(good) is good
    assert pod_failure(pod({"running": {}}, phase="Running")) is None


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (waiting("InvalidImageName", "couldn't parse"), "the image 'img:1' of its container 'kinetic-worker'"),
        (waiting("CreateContainerError"), "its container 'kinetic-worker' cannot be made: CreateContainerError"),
        (waiting("ContainerCreating"), ""),
        (
            pod(None, {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}),
            "held back by a scheduling gate",
        ),
    ],
)
def test_a_pod_that_waits_says_why(found: dict[str, Any], reason: str) -> None:
    assert state_of(look_at(job(), [found])).reason.startswith(reason)


def test_the_latest_news_counts_whichever_field_has_its_time() -> None:
    look = look_at(job(), [waiting("ContainerCreating")])
    news = [
        event("FailedMount", "old", "2026-11-30T02:01:00Z"),
        event("FailedAttachVolume", "new", None, series={"lastObservedTime": "2026-11-30T02:03:00.000001Z"}),
        event("FailedMount", "middle", None, eventTime="2026-11-30T02:02:00.000001Z"),
        event("Pulled", "is no problem", "2026-11-30T02:09:00Z"),
    ]
    assert wants_news(look)
    assert state_of(look, news).reason == "a volume cannot be attached: new"


@pytest.mark.parametrize(
    ("found", "is_hopeless"),
    [
        (waiting("ErrImagePull", "manifest unknown"), True),
        (waiting("ImagePullBackOff", "Back-off pulling image: toomanyrequests"), False),
        (waiting("ErrImageNeverPull"), True),
        (waiting("ContainerCreating"), False),
        (pod({"running": {}}, phase="Running"), False),
    ],
)
def test_only_what_a_registry_says_for_good_is_hopeless(found: dict[str, Any], is_hopeless: bool) -> None:
    assert bool(hopeless(look_at(job(), [found]))) is is_hopeless


def marked(found: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    return {**found, "metadata": {**found["metadata"], "annotations": patch["metadata"]["annotations"]}}


def test_a_mark_counts_for_more_than_the_end_that_it_brought_about() -> None:
    mark = Mark(status=JobStatus.CANCELLED, reason="cancelled", at=AT)
    failed = job({"type": "Failed", "reason": "DeadlineExceeded"})
    patch = ending_patch(mark, is_suspended=False)
    assert mark_of(marked(failed, patch)) == mark
    assert state_of(look_at(marked(failed, patch), ())).status is JobStatus.CANCELLED
    assert mark_of(failed) is None


def test_what_was_cancelled_stays_so_and_what_was_given_up_may_yet_succeed() -> None:
    complete = job({"type": "Complete"})
    for status, then in ((JobStatus.CANCELLED, JobStatus.CANCELLED), (JobStatus.FAILED, JobStatus.SUCCEEDED)):
        patch = ending_patch(Mark(status=status, reason="so", at=AT), is_suspended=False)
        assert state_of(look_at(marked(complete, patch), ())).status is then


def test_an_index_that_had_succeeded_does_not_lose_that_with_its_array() -> None:
    array = job(spec={"completionMode": "Indexed"}, completedIndexes="0-1")
    whole = ending_patch(Mark(status=JobStatus.CANCELLED, reason="cancelled", at=AT), is_suspended=False)
    assert state_of(look_at(marked(array, whole), (), 0)).status is JobStatus.SUCCEEDED
    assert state_of(look_at(marked(array, index_patch(1, AT)), (), 1)).status is JobStatus.CANCELLED
    assert state_of(look_at(marked(array, index_patch(1, AT)), (), 0)).status is JobStatus.SUCCEEDED


def test_the_queue_of_a_job_is_changed_only_while_it_is_suspended() -> None:
    mark = Mark(status=JobStatus.CANCELLED, reason="cancelled", at=AT)
    assert "labels" not in ending_patch(mark, is_suspended=False)["metadata"]
    assert ending_patch(mark, is_suspended=True)["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": None}


def test_each_index_of_an_array_stands_for_itself() -> None:
    array = marked(
        job(spec={"completionMode": "Indexed"}, completedIndexes="0,3-4", failedIndexes="1", active=1),
        index_patch(5, AT),
    )
    pods = [
        ended(7) | {"metadata": {**ended(7)["metadata"], **pod(index=1, name="b")["metadata"]}},
        pod({"running": {"startedAt": CREATED}}, index=2, phase="Running"),
    ]
    states = [state_of(look_at(array, pods, index)) for index in range(7)]
    assert [state.status for state in states] == [
        *("SUCCEEDED", "FAILED", "RUNNING", "SUCCEEDED", "SUCCEEDED", "CANCELLED", "PENDING")
    ]
    assert (states[1].reason, states[6].reason) == ("exited with code 7", "waiting for other jobs of its batch")
    assert not wants_news(look_at(array, pods, 6))
    over = {**array, "status": {**array["status"], "conditions": [{"type": "Failed", "status": "True"}]}}
    assert state_of(look_at(over, pods, 6)).status is JobStatus.FAILED


def test_a_slice_tells_the_life_of_its_first_host() -> None:
    hosts = [pod({"running": {"startedAt": CREATED}}, index=index, name=str(index)) for index in (1, 0)]
    look = look_at(job(spec={"completionMode": "Indexed"}), hosts)
    assert isinstance(look, Look)
    told = list(history("job-0a1b2c3d", look))
    assert [(one.kind, one.details.get("pod")) for one in told] == [("job_submitted", None), ("job_started", "0")]
