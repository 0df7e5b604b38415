"""JobSets: the recorded ones; the definition lies beside the checkout, if anywhere."""

import json
from typing import Any

import pytest
from kubernetes import client

from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import Obj, labels_of, name_of
from tests.fakes.kube.recording import Exchange, differences, recorded, shape
from tests.fakes.kube.waiting import Room, until

PLACE = ("jobset.x-k8s.io", "v1alpha2")
SET = "jobset.sigs.k8s.io/jobset-name"


def answers() -> dict[str, Exchange]:
    """Return the recorded exchanges by their labels."""
    return {each.label: each for each in recorded("custom-resources.jsonl") if isinstance(each, Exchange)}


def over(room: Room, label: str) -> Obj:
    """Create the recorded set of that label; return it once its end is told."""
    sets: Any = client.CustomObjectsApi(room.api)
    body = json.loads(json.dumps(answers()[label].body))
    name = sets.create_namespaced_custom_object(*PLACE, room.namespace, "jobsets", body)["metadata"]["name"]

    def look() -> Obj | None:
        found: Obj = sets.get_namespaced_custom_object(*PLACE, room.namespace, "jobsets", name)
        return found if found.get("status", {}).get("terminalState") else None

    found = until(look, why=f"the end of {name}")
    assert found is not None
    return found


def conditions(found: Obj) -> list[tuple[str, str, str, str]]:
    keys = ("type", "status", "reason", "message")
    return [(each[keys[0]], each[keys[1]], each[keys[2]], each[keys[3]]) for each in found["status"]["conditions"]]


@pytest.mark.usefixtures("defined")
def test_the_recorded_set_completes_as_recorded(room: Room) -> None:
    found, wanted = over(room, "jobset create"), answers()["jobset get done"].answer
    assert found["status"]["terminalState"] == "Completed"
    assert conditions(found) == conditions(wanted)
    assert list(differences(shape(wanted), shape(found))) == []
    jobs = room.plain(room.batch.list_namespaced_job(room.namespace, label_selector=f"{SET}=gj-ok"))["items"]
    real = answers()["jobset jobs"].answer["items"]
    assert [name_of(job) for job in jobs] == [name_of(job) for job in real]
    for job, recording in zip(jobs, real, strict=True):
        assert labels_of(job).keys() == labels_of(recording).keys()
        assert list(differences(shape(recording["spec"]), shape(job["spec"]))) == []


def test_the_recorded_set_is_restarted_and_fails_as_recorded(defined: Cluster, room: Room) -> None:
    found, wanted = over(room, "jobset create failing"), answers()["jobset get failed"].answer
    assert (found["status"]["terminalState"], found["status"]["restarts"]) == ("Failed", 1)
    assert conditions(found) == conditions(wanted)
    assert list(differences(shape(wanted), shape(found))) == []
