"""What the recordings do not refuse, and a driver runs into; these run against any cluster."""

import json
from typing import Any

import pytest
from kubernetes.client import ApiException

from tests.fakes.kube.bodies import job
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.waiting import Room

RULE = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}
MANY: Obj = {"completionMode": "Indexed", "completions": 10_000, "parallelism": 1}


def refusal(room: Room, body: Obj) -> Obj:
    """Return how the server refuses a Job."""
    with pytest.raises(ApiException) as raised:
        room.create(body)
    found: Obj = json.loads(str(raised.value.body))
    return found


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (job("x" * 60, "", **MANY), "metadata.name"),
        (job("j", "", completionMode="Indexed", parallelism=1), "spec.completions"),
        (job("j", "", parallelism=-1), "spec.parallelism"),
        (job("j", "", backoffLimitPerIndex=1), "spec.backoffLimitPerIndex"),
        (job("j", "", podFailurePolicy={"rules": [RULE]}), "spec.podFailurePolicy.rules[0].action"),
        (job("j", "", main={"name": "Up_Case"}), "spec.template.spec.containers[0].name"),
        (
            job("j", "", main={"volumeMounts": [{"name": "v", "mountPath": "/v"}]}),
            "spec.template.spec.containers[0].volumeMounts[0].name",
        ),
        (job("j", "", pod={"volumes": [{"name": "V", "emptyDir": {}}]}), "spec.template.spec.volumes[0].name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_job_is_refused_for_the_field_that_is_wrong(room: Room, body: Obj, field: str) -> None:
    found = refusal(room, body)
    assert found["code"] == 422
    assert field in [cause["field"] for cause in found["details"]["causes"]]


def test_a_quantity_that_is_none_is_a_bad_request(room: Room) -> None:
    found = refusal(room, job("j", "", main={"resources": {"limits": {"cpu": "much"}}}))
    assert (found["code"], "quantities must match the regular expression" in found["message"]) == (400, True)


def test_a_secret_that_is_no_base64_is_a_bad_request(room: Room) -> None:
    body: Any = {"metadata": {"name": "s"}, "data": {"k": "no base64!"}}
    with pytest.raises(ApiException) as raised:
        room.core.create_namespaced_secret(room.namespace, body)
    assert raised.value.status == 400


def test_ten_thousand_indexes_are_one_object(room: Room) -> None:
    room.create(job("many", "", suspend=True, **MANY))
    assert room.job("many")["spec"]["completions"] == 10_000
    assert room.pods("many") == []
