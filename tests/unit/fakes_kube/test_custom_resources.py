"""Custom resources: one defined here, and the recorded requests about the three that Pathways jobs are made of."""

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client import ApiException

from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.recording import Exchange, differences, recorded, shape
from tests.fakes.kube.replay import Answer, Replay
from tests.fakes.kube.waiting import Room

GROUP = "example.com"
SCHEMA: Obj = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
# What needs the controllers of the three, or an answer of their own.
ONLY_WITH_CONTROLLERS = {
    "jobset get done",
    "jobset jobs",
    "jobset pods",
    "jobset get failed",
    "jobset delete",
    "jobset get after foreground delete",
    "lws get",
    "lws pods",
    "lws statefulsets",
}


@pytest.fixture
def widgets(room: Room) -> Iterator[Any]:
    """Serve widgets while the test runs."""
    definitions: Any = client.ApiextensionsV1Api(room.api)
    body = {
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": SCHEMA},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
    room.api.call_api  # noqa: B018 - a client of either generation
    definitions.create_custom_resource_definition(body)
    yield client.CustomObjectsApi(room.api)
    definitions.delete_custom_resource_definition(f"widgets.{GROUP}")


def widget(name: str, **spec: Any) -> Obj:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def test_a_custom_resource_gets_its_defaults_and_loses_unknown_fields(room: Room, widgets: Any) -> None:
    made = widgets.create_namespaced_custom_object(GROUP, "v1", room.namespace, "widgets", widget("w", size=2, nope=1))
    assert made["spec"] == {"size": 2, "colour": "red"}
    assert made["metadata"]["generation"] == 1


def test_its_status_is_changed_apart_from_the_rest(room: Room, widgets: Any) -> None:
    place = (GROUP, "v1", room.namespace, "widgets")
    widgets.create_namespaced_custom_object(*place, widget("w", size=2))
    body = {"spec": {"size": 9}, "status": {"phase": "Done"}}
    changed = widgets.patch_namespaced_custom_object_status(*place, "w", body)
    assert (changed["spec"]["size"], changed["status"]) == (2, {"phase": "Done"})
    listed = widgets.list_namespaced_custom_object(*place)
    assert [(item["kind"], item["metadata"]["generation"]) for item in listed["items"]] == [("Widget", 1)]


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        ({"size": 0}, "spec.size", "FieldValueInvalid"),
        ({"size": "big"}, "spec.size", "FieldValueTypeInvalid"),
        ({"size": 1, "colour": "green"}, "spec.colour", "FieldValueNotSupported"),
        ({}, "spec.size", "FieldValueRequired"),
    ],
)
def test_an_invalid_one_is_refused_with_its_causes(
    room: Room, widgets: Any, spec: Obj, field: str, reason: str
) -> None:
    with pytest.raises(ApiException) as raised:
        widgets.create_namespaced_custom_object(GROUP, "v1", room.namespace, "widgets", widget("w", **spec))
    assert raised.value.status == 422
    body = str(raised.value.body)
    assert f'"reason": "{reason}"' in body
    assert f'"field": "{field}"' in body


def test_a_kind_whose_definition_is_missing_is_a_404_that_is_no_json(room: Room) -> None:
    custom: Any = client.CustomObjectsApi(room.api)
    with pytest.raises(ApiException) as raised:
        custom.list_namespaced_custom_object("nope.example.com", "v1", room.namespace, "things")
    assert (raised.value.status, str(raised.value.body).strip()) == (404, "404 page not found")


@pytest.fixture(scope="module")
def replayed(defined: Cluster) -> list[tuple[Exchange, Answer]]:
    """Send what was recorded about the three."""
    run = Replay(cluster=defined)
    entries = [each for each in recorded("custom-resources.jsonl") if isinstance(each, Exchange)]
    return [(each, run.send(each)) for each in entries if _stands_alone(each)]


def _stands_alone(exchange: Exchange) -> bool:
    return exchange.label not in ONLY_WITH_CONTROLLERS and not exchange.label.startswith(
        ("pathwaysjob get", "pathwaysjob child")
    )


def test_the_recorded_requests_have_the_recorded_answers(replayed: list[tuple[Exchange, Answer]]) -> None:
    assert len(replayed) > 15
    wrong = [
        (each.label, each.status, answer)
        for each, answer in replayed
        if each.status != answer.status or (each.status >= 400 and _told(each.answer) != _told(answer.body))
    ]
    assert wrong == []


def _told(status: Obj) -> tuple[Any, ...]:
    """Return what is compared of a refusal: the words too, but for what the server's expressions (CEL) add to them."""
    causes = (status.get("details") or {}).get("causes") or []
    return status.get("reason"), sorted(each["field"] for each in causes if each["field"] != "<nil>")


def test_what_was_created_has_the_recorded_shape(replayed: list[tuple[Exchange, Answer]]) -> None:
    wrong = {
        each.label: found
        for each, answer in replayed
        if each.status < 400
        and each.label != "lws resources"
        and (found := list(differences(shape(each.answer), shape(answer.body))))
    }
    assert wrong == {}
