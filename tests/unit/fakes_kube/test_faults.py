"""What goes wrong when a test asks for it."""

import itertools
from typing import Any

import pytest
from kubernetes.client import ApiException

from tests.fakes.kube.bodies import job
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import Obj, condition, holds, name_of
from tests.fakes.kube.pod_faults import DEFAULT_MESSAGES
from tests.fakes.kube.waiting import Room, until

SLEEP = "import time; print('up'); time.sleep(600)"


def status_of(room: Room) -> int:
    """Return the status of a list of Jobs."""
    try:
        room.batch.list_namespaced_job(room.namespace)
    except ApiException as error:
        return int(error.status or 0)
    return 200


def waiting(pod: Obj) -> Obj:
    """Return why the pod's only container waits."""
    statuses: list[Obj] = pod["status"].get("containerStatuses") or [{"state": {}}]
    found: Obj = statuses[0]["state"].get("waiting") or {}
    return found


def ended(pod: Obj) -> Obj:
    """Return how the pod's only container ended."""
    found: Obj = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return found


@pytest.mark.parametrize("status", [401, 403, 409, 410, 500, 503, 504])
def test_requests_fail_after_so_many_and_so_many_times(healed: Cluster, room: Room, status: int) -> None:
    healed.fail_requests(method="GET", path=f"{room.namespace}/jobs", skip=1, times=2, status=status)
    assert [status_of(room) for _ in range(4)] == [200, status, status, 200]


def test_a_busy_server_says_when_to_come_again(healed: Cluster, room: Room) -> None:
    healed.fail_requests(path=f"{room.namespace}/jobs", status=429, retry_after_s=7, times=1)
    with pytest.raises(ApiException) as raised:
        room.batch.create_namespaced_job(room.namespace, job("j", ""), _request_timeout=30)
    assert (raised.value.status, (raised.value.headers or {})["Retry-After"]) == (429, "7")


def test_a_reply_is_lost_though_the_job_is_made(healed: Cluster, room: Room) -> None:
    healed.fail_requests(method="POST", path=f"{room.namespace}/jobs", lose_reply=True, times=1)
    with pytest.raises(Exception, match=r"(?i)aborted|closed|reset|eof|retries|conflict|exists"):
        room.create(job("made", "print(1)", suspend=True))
    assert room.job("made")["metadata"]["name"] == "made"


def test_a_request_is_dropped_before_it_is_acted_on(healed: Cluster, room: Room) -> None:
    healed.fail_requests(method="POST", path=f"{room.namespace}/jobs", drop=True, times=4)
    with pytest.raises(Exception, match=r"(?i)aborted|closed|reset|eof|retries"):
        room.create(job("never", "print(1)"))
    assert room.plain(room.batch.list_namespaced_job(room.namespace))["items"] == []


def test_admission_is_slow(healed: Cluster, room: Room) -> None:
    healed.fail_requests(method="POST", path=f"{room.namespace}/jobs", delay_s=2, times=1)
    with pytest.raises(Exception, match=r"(?i)timed out|timeout"):
        room.batch.create_namespaced_job(room.namespace, job("slow", "", suspend=True), _request_timeout=0.2)


def test_admission_refuses_with_the_words_that_a_test_gives(healed: Cluster, room: Room) -> None:
    told = 'Internal error occurred: failed calling webhook "x.example.com": connection refused'
    healed.fail_requests(method="POST", path=f"{room.namespace}/jobs", status=500, message=told, times=1)
    with pytest.raises(ApiException) as raised:
        room.create(job("refused", ""))
    assert "failed calling webhook" in str(raised.value.body)


def test_an_image_that_cannot_be_pulled_keeps_the_pod_waiting(healed: Cluster, room: Room) -> None:
    healed.fail_pods("image_pull", pod="^unpulled")
    room.create(job("unpulled", "print(1)"))
    until(lambda: waiting(room.pod("unpulled")).get("reason") == "ImagePullBackOff")
    until(lambda: waiting(room.pod("unpulled")).get("reason") == "ErrImagePull")
    assert {"Pulling", "Failed", "BackOff"} <= room.reasons()
    with pytest.raises(ApiException) as raised:
        room.log(name_of(room.pod("unpulled")))
    assert (raised.value.status, "pull" in str(raised.value.body)) == (400, True)
    healed.heal()
    assert holds(room.finished("unpulled"), "Complete")


def test_a_pod_stays_unscheduled_for_the_reason_given(healed: Cluster, room: Room) -> None:
    healed.fail_pods("unschedulable", pod="^nowhere", message="0/9 nodes are available: 9 Insufficient google.com/tpu.")
    room.create(job("nowhere", "print(1)"))

    def message() -> str:
        found = condition(room.pod("nowhere"), "PodScheduled")
        return str((found or {}).get("message"))

    until(lambda: "9 Insufficient google.com/tpu" in message())
    healed.heal()
    assert holds(room.finished("nowhere"), "Complete")


@pytest.mark.parametrize("kind", ["quota", "admission"])
def test_a_job_whose_pods_are_refused_says_why(healed: Cluster, room: Room, kind: Any) -> None:
    healed.fail_pods(kind, pod=f"^not-{kind}")
    room.create(job(f"not-{kind}", "print(1)"))
    until(lambda: "FailedCreate" in room.reasons())
    expected = DEFAULT_MESSAGES[kind].partition("{name}")[2] or DEFAULT_MESSAGES[kind]
    assert any(expected in event["message"] for event in room.events())
    assert room.pods(f"not-{kind}") == []
    healed.heal()
    assert holds(room.finished(f"not-{kind}"), "Complete")


def test_a_volume_that_cannot_be_mounted_is_told_by_an_event(healed: Cluster, room: Room) -> None:
    healed.fail_pods("mount", pod="^unmounted")
    room.create(job("unmounted", "print(1)"))
    until(lambda: "FailedMount" in room.reasons())
    assert waiting(room.pod("unmounted"))["reason"] == "ContainerCreating"
    healed.heal()
    assert holds(room.finished("unmounted"), "Complete")


def test_memory_runs_out(healed: Cluster, room: Room) -> None:
    healed.fail_pods("oom", pod="^hungry", times=1)
    room.create(job("hungry", SLEEP))
    room.finished("hungry")
    how = ended(room.pod("hungry"))
    assert (how["reason"], how["exitCode"]) == ("OOMKilled", 137)


@pytest.mark.parametrize(("how", "reason"), [("evict", "Evicted"), ("shutdown", "Terminated")])
def test_a_pod_is_ended_by_its_node(healed: Cluster, room: Room, how: Any, reason: str) -> None:
    room.create(job("ends", SLEEP))
    healed.disrupt(name_of(room.pod("ends", "Running")), how, namespace=room.namespace)
    assert holds(room.finished("ends"), "Failed")
    pod = room.pod("ends")
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", reason)
    assert (condition(pod, "DisruptionTarget") or {})["reason"] == "TerminationByKubelet"
    assert ended(pod)["exitCode"] == 137


def test_a_preempted_pod_is_replaced_where_the_policy_ignores_disruptions(healed: Cluster, room: Room) -> None:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    script = "import os, sys, time; print('up'); time.sleep(0 if os.path.exists('/work/again') else 600)"
    pod = {"terminationGracePeriodSeconds": 0, "volumes": [{"name": "work", "hostPath": {"path": str(healed.folder)}}]}
    main = {"volumeMounts": [{"name": "work", "mountPath": "/work"}]}
    room.create(job("moved", script, pod=pod, main=main, podFailurePolicy={"rules": [rule]}))
    first = name_of(room.pod("moved", "Running"))
    (healed.folder / "again").touch()
    healed.disrupt(first, "preempt", namespace=room.namespace)
    found = room.finished("moved")
    assert holds(found, "Complete")
    assert "failed" not in found["status"]
    assert "Preempted" in room.reasons()


def test_a_lost_node_takes_its_pods_and_their_logs_along(healed: Cluster, room: Room) -> None:
    room.core.create_node({"metadata": {"name": "frail", "labels": {"frail": "y"}}})
    room.create(job("lost", SLEEP, pod={"nodeSelector": {"frail": "y"}}))
    name = name_of(room.pod("lost", "Running"))
    healed.act("lose-node", node="frail")
    assert holds(room.finished("lost"), "Failed")
    node = room.plain(room.core.read_node("frail"))
    assert (condition(node, "Ready") or {})["status"] == "Unknown"
    assert name not in [name_of(pod) for pod in room.pods("lost")]
    healed.act("restore-node", node="frail")
    assert holds(room.plain(room.core.read_node("frail")), "Ready")
    room.core.delete_node("frail")


def test_requests_are_counted(healed: Cluster, room: Room) -> None:
    before = len(healed.requests(method="GET", path=f"{room.namespace}/jobs"))
    for _ in itertools.repeat(None, 3):
        status_of(room)
    assert len(healed.requests(method="GET", path=f"{room.namespace}/jobs", status=200)) == before + 3
