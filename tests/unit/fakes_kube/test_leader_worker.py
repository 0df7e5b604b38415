"""LeaderWorkerSets: the recorded one, and what its pods find; the definition lies beside the checkout, if anywhere."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client

from tests.fakes.kube.bodies import pod_spec
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import Obj, holds, labels_of, name_of
from tests.fakes.kube.recording import Exchange, differences, recorded, shape
from tests.fakes.kube.waiting import Room, until

PLACE = ("leaderworkerset.x-k8s.io", "v1")
NAME = "leaderworkerset.sigs.k8s.io/name"


@pytest.fixture
def sets(defined: Cluster, room: Room) -> Iterator[Any]:
    """Return the client for custom objects, on a cluster that serves the sets and has the chips."""
    node = {"metadata": {"name": "slice"}, "status": {"capacity": {"google.com/tpu": "16"}}}
    room.core.create_node(node)
    yield client.CustomObjectsApi(room.api)
    room.core.delete_node("slice")


def answers() -> dict[str, Exchange]:
    """Return the recorded exchanges by their labels."""
    return {each.label: each for each in recorded("custom-resources.jsonl") if isinstance(each, Exchange)}


def available(room: Room, sets: Any, name: str) -> Obj:
    """Return the set once all of its pods are ready."""

    def look() -> Obj | None:
        found: Obj = sets.get_namespaced_custom_object(*PLACE, room.namespace, "leaderworkersets", name)
        return found if holds({"status": found.get("status", {})}, "Available") else None

    found = until(look, why=f"{name} available")
    assert found is not None
    return found


def pods(room: Room, name: str) -> list[Obj]:
    """Return the set's pods in the order of their names."""
    items = room.plain(room.core.list_namespaced_pod(room.namespace, label_selector=f"{NAME}={name}"))["items"]
    return sorted(items, key=name_of)


def test_the_recorded_set_becomes_the_recorded_pods(room: Room, sets: Any) -> None:
    wanted = answers()
    body = json.loads(json.dumps(wanted["lws create"].body))
    body["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["image"] = "x:1"
    sets.create_namespaced_custom_object(*PLACE, room.namespace, "leaderworkersets", body)
    found = available(room, sets, "gl")
    assert list(differences(shape(wanted["lws get"].answer), shape(found))) == []
    made = pods(room, "gl")
    assert [name_of(pod) for pod in made] == ["gl-0", "gl-0-1"]
    for pod, real in zip(made, wanted["lws pods"].answer["items"], strict=True):
        assert labels_of(pod).keys() == labels_of(real).keys()
        assert pod["metadata"]["annotations"] == real["metadata"]["annotations"]
        variables = json.dumps(real["spec"]["containers"][0]["env"]).replace(".gl.default", f".gl.{room.namespace}")
        assert pod["spec"]["containers"][0]["env"] == json.loads(variables)
        assert list(differences(shape(real["spec"]), shape(pod["spec"]))) == []
    sets.delete_namespaced_custom_object(
        *PLACE, room.namespace, "leaderworkersets", "gl", propagation_policy="Background"
    )
    until(lambda: not pods(room, "gl"))


def test_a_group_starts_again_as_one(room: Room, sets: Any) -> None:
    # Long enough for anybody to see that both are ready; and where nobody did, the next group's turn comes.
    script = "import os, sys, time; time.sleep(3 if os.environ['LWS_WORKER_INDEX'] == '1' else 600); sys.exit(1)"
    template = {"spec": {**pod_spec(script), "restartPolicy": "Always", "terminationGracePeriodSeconds": 0}}
    spec = {"size": 2, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": template}
    body = {"apiVersion": "/".join(PLACE), "kind": "LeaderWorkerSet", "metadata": {"name": "again"}}
    body["spec"] = {"replicas": 1, "leaderWorkerTemplate": spec}
    sets.create_namespaced_custom_object(*PLACE, room.namespace, "leaderworkersets", body)
    available(room, sets, "again")
    first = {name_of(pod): pod["metadata"]["uid"] for pod in pods(room, "again")}

    def renewed() -> bool:
        now = {name_of(pod): pod["metadata"]["uid"] for pod in pods(room, "again")}
        return len(now) == 2 and not set(now.values()) & set(first.values())

    until(renewed, why="a new leader and a new worker")
    sets.delete_namespaced_custom_object(
        *PLACE, room.namespace, "leaderworkersets", "again", propagation_policy="Background"
    )
