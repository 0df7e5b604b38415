"""Why a job does not run, and why it failed: told while it waits, and the same to whoever asks afterwards."""

import time
from pathlib import Path
from typing import Any

import pytest

from kinetic.jobs.lastwords import last_words
from kinetic_core.model.job import JobRef, JobState, JobStatus
from kinetic_gke.cluster.sharing import close_clusters
from kinetic_gke.manifest.names import job_name
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import name_of
from tests.fakes.kube.waiting import until
from tests.system.gke.conftest import WAIT_S, Gke, gke_at


def running(gke: Gke, **options: Any) -> tuple[JobRef, str]:
    """Start a job that goes on for long; return it and its pod, once it runs."""
    told = gke.store.parent / "told"
    path = str(told)

    def linger(path: str) -> None:
        import pathlib

        pathlib.Path(path).write_text("running\n")
        time.sleep(600)

    ref = gke.backend.submit(gke.job(linger, path, **options))
    until(told.exists)
    return ref, name_of(gke.room.pod(job_name(ref.job_id), "Running"))


def end_of(gke: Gke, ref: JobRef) -> JobState:
    """Wait for the job's end; return how it stands then."""
    events = list(gke.backend.events(ref, timeout_s=WAIT_S))
    state = gke.backend.status(ref)
    assert (events[-1].kind, events[-1].status, events[-1].reason) == ("job_ended", state.status, state.reason)
    return state


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("unschedulable", "no node has room for it: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
        ("mount", 'a volume cannot be mounted: MountVolume.SetUp failed for volume "data"'),
        ("config", "its container 'kinetic-worker' cannot be made: secret \"missing\" not found"),
        ("quota", "its pod is not admitted: Error creating: pods"),
        ("admission", "images must come from the site registry"),
    ],
)
def test_a_job_that_waits_says_why_and_runs_once_it_can(healed: Cluster, gke: Gke, kind: Any, reason: str) -> None:
    healed.fail_pods(kind)
    spec = gke.job(lambda: 7)
    ref = gke.backend.submit(spec)
    until(lambda: reason in gke.backend.status(ref).reason, why=reason)
    assert gke.backend.status(ref).status is JobStatus.PENDING
    seen = []
    for event in gke.backend.events(ref, timeout_s=WAIT_S):
        seen.append(event)
        if event.kind == "job_waiting" and reason in event.reason:
            healed.heal()
    assert [event.kind for event in seen if event.kind != "job_waiting"] == [
        "job_submitted",
        "job_started",
        "job_ended",
    ]
    assert len({event.reason for event in seen}) >= 2
    assert [event.at for event in seen] == sorted(event.at for event in seen)
    assert gke.value(spec) == 7


def test_a_cluster_that_scales_up_asks_for_patience(healed: Cluster, gke: Gke) -> None:
    healed.fail_pods("unschedulable")
    ref = gke.backend.submit(gke.job(lambda: 7))
    pod = gke.room.pod(job_name(ref.job_id))
    gke.room.core.create_namespaced_event(
        gke.room.namespace,
        {
            "metadata": {"name": "scaling"},
            "involvedObject": {"kind": "Pod", "name": name_of(pod), "uid": pod["metadata"]["uid"]},
            "reason": "TriggeredScaleUp",
            "message": "pod triggered scale-up: [{pool-1 0->1 (max: 4)}]",
            "type": "Normal",
            "lastTimestamp": "2026-11-30T00:00:00Z",
        },
    )
    until(lambda: "the cluster is scaling up: pod triggered scale-up" in gke.backend.status(ref).reason)
    gke.backend.cancel(ref)


def test_an_image_that_cannot_be_pulled_fails_the_job_at_once_for_every_process(healed: Cluster, gke: Gke) -> None:
    healed.fail_pods("image_pull")
    ref = gke.backend.submit(gke.job(lambda: 7))
    state = end_of(gke, ref)
    assert state.status is JobStatus.FAILED
    assert "cannot be pulled: failed to pull and unpack image" in state.reason
    close_clusters()
    assert gke.backend.status(ref) == state
    until(lambda: gke.room.pods(job_name(ref.job_id)) == [])
    assert gke.backend.status(ref) == state


def test_a_registry_that_has_a_bad_day_is_waited_for(healed: Cluster, gke: Gke) -> None:
    healed.fail_pods("image_pull", message="failed to resolve reference: unexpected status: 503 Service Unavailable")
    spec = gke.job(lambda: 7)
    ref = gke.backend.submit(spec)
    until(lambda: "503 Service Unavailable" in gke.backend.status(ref).reason)
    assert gke.backend.status(ref).status is JobStatus.PENDING
    healed.heal()
    assert end_of(gke, ref).status is JobStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("how", "status", "reason", "code"),
    [
        ("oom", "FAILED", "OOMKilled: it used more memory than its 2Gi; ask for more with KINETIC_GKE_MEMORY", 137),
        ("evict", "FAILED", "evicted: ", 137),
        ("shutdown", "PREEMPTED", "preempted: its node was shut down", 137),
        ("preempt", "PREEMPTED", "preempted: a pod of higher priority took its place", None),
    ],
)
def test_a_pod_that_is_ended_from_outside_says_by_what(
    healed: Cluster, gke: Gke, how: Any, status: str, reason: str, code: int | None
) -> None:
    ref, pod = running(gke)
    gke.backend.status(ref)
    gke.backend.status(ref)
    healed.disrupt(pod, how, namespace=gke.room.namespace)
    state = end_of(gke, ref)
    assert (state.status, code in {state.exit_code, None}) == (JobStatus(status), True)
    assert state.reason.startswith(reason)


def test_who_comes_after_a_preempted_pod_is_gone_learns_of_it_too(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    ref, pod = running(gke)
    healed.disrupt(pod, "preempt", namespace=gke.room.namespace)
    gke.room.finished(job_name(ref.job_id))
    until(lambda: gke.room.pods(job_name(ref.job_id)) == [])
    later = gke_at(gke.room, gke.kubeconfig, tmp_path / "later")
    state = end_of(later, ref)
    assert state.status is JobStatus.PREEMPTED
    assert state.reason.startswith("preempted: a pod of higher priority took its place (Preempted by pod")


def test_a_lost_node_fails_its_job(healed: Cluster, gke: Gke) -> None:
    ref, _ = running(gke)
    gke.backend.status(ref)
    gke.backend.status(ref)
    node = gke.room.pod(job_name(ref.job_id))["spec"]["nodeName"]
    healed.act("lose-node", node=node)
    try:
        state = end_of(gke, ref)
    finally:
        healed.act("restore-node", node=node)
    assert state.status is JobStatus.FAILED
    assert state.reason.startswith("its node was lost")


def test_a_job_that_takes_too_long_says_so(gke: Gke) -> None:
    # Whether it has begun by then: its time counts from when the cluster took it on.
    ref = gke.backend.submit(gke.job(lambda: time.sleep(600), timeout=5))
    assert end_of(gke, ref).reason == "timed out after 5 s"


def test_a_preempted_job_with_retries_runs_again_and_the_functions_own_failure_does_not(
    healed: Cluster, gke: Gke
) -> None:
    marks = gke.store.parent / "marks"

    def once(path: str) -> int:
        import pathlib

        place = pathlib.Path(path)
        place.mkdir(exist_ok=True)
        number = len(list(place.iterdir()))
        (place / str(number)).touch()
        print("attempt", number, flush=True)
        if number == 0:
            time.sleep(600)
        raise LookupError(str(number))

    ref = gke.backend.submit(gke.job(once, str(marks), retries=3))
    until((marks / "0").exists)
    healed.disrupt(name_of(gke.room.pod(job_name(ref.job_id), "Running")), "shutdown", namespace=gke.room.namespace)
    events = list(gke.backend.events(ref, timeout_s=WAIT_S))
    assert [event.details["attempt"] for event in events if event.kind == "job_started"] == [1, 2]
    assert gke.backend.status(ref) == JobState(status=JobStatus.FAILED, reason="exited with code 1", exit_code=1)
    assert sorted(path.name for path in marks.iterdir()) == ["0", "1"]
    log = "".join(gke.backend.logs(ref, tail=30))
    assert log.count("==> ") == 2
    assert "attempt 0\n" in log
    assert "attempt 1\n" in log
    told = last_words(ref, gke.backend.status(ref), gke.backend)
    assert [line for line in told.splitlines() if line.startswith("attempt")] == ["attempt 0", "attempt 1"]


def test_an_attempt_whose_pod_is_gone_says_so_and_the_others_are_told(healed: Cluster, gke: Gke) -> None:
    ref, pod = running(gke, retries=1)
    gke.backend.status(ref)
    gke.backend.status(ref)  # the second look is the watch's, which knows of pods that are gone
    healed.disrupt(pod, "preempt", namespace=gke.room.namespace)
    until(lambda: pod not in map(name_of, gke.room.pods(job_name(ref.job_id))))
    again = name_of(gke.room.pod(job_name(ref.job_id), "Running"))
    healed.disrupt(again, "oom", namespace=gke.room.namespace)
    state = end_of(gke, ref)
    told = last_words(ref, state, gke.backend)
    assert f"==> {pod} <==\nkinetic: the pod {pod} is gone, and its log with it\n==> {again} <==\n" in told


def test_a_job_without_any_pod_left_says_so(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    ref, pod = running(gke)
    healed.disrupt(pod, "oom", namespace=gke.room.namespace)
    gke.room.finished(job_name(ref.job_id))
    gke.room.core.delete_namespaced_pod(pod, gke.room.namespace, grace_period_seconds=0)
    until(lambda: gke.room.pods(job_name(ref.job_id)) == [])
    later = gke_at(gke.room, gke.kubeconfig, tmp_path / "later")
    assert last_words(ref, later.backend.status(ref), later.backend) == (
        "kinetic: none of its pods is left, and their logs are gone with them\n"
    )
