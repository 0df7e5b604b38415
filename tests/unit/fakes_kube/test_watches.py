"""Watches, lists and versions; those that take only `room` run against any cluster."""

import itertools
from typing import Any

import pytest
from kubernetes import watch
from kubernetes.client import ApiException
from urllib3.exceptions import ProtocolError

from tests.fakes.kube.bodies import job
from tests.fakes.kube.cluster import Cluster, running_cluster
from tests.fakes.kube.objects import Obj, name_of
from tests.fakes.kube.pace import Pace
from tests.fakes.kube.waiting import Room, until


def config_map(name: str, **labels: str) -> Obj:
    return {"metadata": {"name": name, "labels": labels}, "data": {"a": "1"}}


def events(room: Room, **options: Any) -> list[tuple[str, str]]:
    """Follow the namespace's config maps until the watch ends."""
    seen = watch.Watch().stream(room.core.list_namespaced_config_map, room.namespace, **options)
    return [(event["type"], event["raw_object"]["metadata"].get("name", "")) for event in seen]


def version(room: Room) -> str:
    return str(room.core.list_namespaced_config_map(room.namespace).metadata.resource_version)


def test_a_watch_goes_on_where_a_list_ended(room: Room) -> None:
    room.core.create_namespaced_config_map(room.namespace, config_map("before"))
    since = version(room)
    room.core.create_namespaced_config_map(room.namespace, config_map("a"))
    room.core.patch_namespaced_config_map("a", room.namespace, {"data": {"a": "2"}})
    room.core.delete_namespaced_config_map("a", room.namespace)
    found = events(room, resource_version=since, timeout_seconds=1)
    assert found == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_a_watch_from_no_version_begins_with_what_is_there(room: Room) -> None:
    room.core.create_namespaced_config_map(room.namespace, config_map("x", app="k"))
    found = events(room, label_selector="app=k", timeout_seconds=1)
    assert found == [("ADDED", "x")]


def test_what_stops_to_match_is_deleted_for_a_watch_with_a_selector(room: Room) -> None:
    since = version(room)
    room.core.create_namespaced_config_map(room.namespace, config_map("x", app="k"))
    room.core.patch_namespaced_config_map("x", room.namespace, {"metadata": {"labels": {"app": "other"}}})
    found = events(room, resource_version=since, label_selector="app=k", timeout_seconds=1)
    assert found == [("ADDED", "x"), ("DELETED", "x")]


def test_a_deleted_event_carries_the_last_state_and_a_newer_version(room: Room) -> None:
    made = room.core.create_namespaced_config_map(room.namespace, config_map("x"))
    since = made.metadata.resource_version
    room.core.delete_namespaced_config_map("x", room.namespace)
    stream = watch.Watch().stream(
        room.core.list_namespaced_config_map, room.namespace, resource_version=since, timeout_seconds=1
    )
    (event,) = list(stream)
    assert event["raw_object"]["data"] == {"a": "1"}
    assert int(event["raw_object"]["metadata"]["resourceVersion"]) > int(since)


def test_a_bookmark_comes_shortly_before_the_end_where_it_is_asked_for() -> None:
    with running_cluster(pace=Pace(watch_second_s=0.05)) as cluster:
        path, query = "/api/v1/namespaces/default/secrets", "watch=1&timeoutSeconds=20&resourceVersion=10000"
        lines = cluster.call("GET", f"{path}?{query}&allowWatchBookmarks=true").splitlines()
        assert [line for line in lines if b'"BOOKMARK"' in line] == lines
        assert len(lines) == 1
        assert cluster.call("GET", f"{path}?{query}") == b""


def test_a_version_that_is_forgotten_ends_the_watch_with_410(healed: Cluster, room: Room) -> None:
    since = version(room)
    room.core.create_namespaced_config_map(room.namespace, config_map("x"))
    healed.act("forget-history")
    with pytest.raises(ApiException) as raised:
        events(room, resource_version=since, timeout_seconds=5)
    assert raised.value.status == 410
    assert "too old resource version" in str(raised.value.reason)


def test_a_watch_that_is_cut_ends_and_can_be_taken_up_again(healed: Cluster, room: Room) -> None:
    since = version(room)
    room.core.create_namespaced_config_map(room.namespace, config_map("x"))
    stream = watch.Watch().stream(
        room.core.list_namespaced_config_map, room.namespace, resource_version=since, timeout_seconds=30
    )
    assert next(stream)["type"] == "ADDED"
    healed.act("cut-watches")
    with pytest.raises(ProtocolError):
        next(stream)
    assert events(room, resource_version=since, timeout_seconds=1) == [("ADDED", "x")]


def test_a_watch_can_be_cut_after_so_many_events(healed: Cluster, room: Room) -> None:
    since = version(room)
    for name in "abc":
        room.core.create_namespaced_config_map(room.namespace, config_map(name))
    healed.fail_requests(path=f"{room.namespace}/configmaps.*watch", cut_after=2, times=1)
    stream = watch.Watch().stream(
        room.core.list_namespaced_config_map, room.namespace, resource_version=since, timeout_seconds=30
    )
    assert [name_of(event["raw_object"]) for event in itertools.islice(stream, 2)] == ["a", "b"]
    with pytest.raises(ProtocolError):
        next(stream)


def test_a_list_comes_in_pages(room: Room) -> None:
    for number in range(5):
        room.core.create_namespaced_config_map(room.namespace, config_map(f"p{number}", page="y"))
    found: list[str] = []
    token = None
    while True:
        page = room.core.list_namespaced_config_map(room.namespace, limit=2, _continue=token, label_selector="page=y")
        found += [item.metadata.name for item in page.items]
        token = page.metadata._continue if hasattr(page.metadata, "_continue") else page.metadata.var_continue
        if not token:
            break
    assert found == [f"p{number}" for number in range(5)]


def test_a_change_of_an_older_version_is_a_conflict(room: Room) -> None:
    made = room.plain(room.core.create_namespaced_config_map(room.namespace, config_map("x")))
    room.core.patch_namespaced_config_map("x", room.namespace, {"data": {"a": "2"}})
    with pytest.raises(ApiException) as raised:
        room.core.replace_namespaced_config_map("x", room.namespace, made)
    assert (raised.value.status, "the object has been modified" in str(raised.value.body)) == (409, True)


def test_a_deletion_meant_for_another_object_of_that_name_is_a_conflict(room: Room) -> None:
    room.core.create_namespaced_config_map(room.namespace, config_map("x"))
    with pytest.raises(ApiException) as raised:
        room.core.delete_namespaced_config_map("x", room.namespace, body={"preconditions": {"uid": "another"}})
    assert raised.value.status == 409


def test_each_state_of_a_job_is_seen_ready_pods_too(room: Room) -> None:
    since = room.create(job("seen", "print(1)"))["metadata"]["resourceVersion"]
    stream = watch.Watch().stream(
        room.batch.list_namespaced_job, room.namespace, resource_version=since, timeout_seconds=60
    )
    ready = []
    for event in stream:
        status = event["raw_object"]["status"]
        ready.append(status.get("ready"))
        if any(each["type"] == "Complete" for each in status.get("conditions", [])):
            break
    assert [count for count, _ in itertools.groupby(ready)][-3:] == [0, 1, 0]


def test_secrets_are_kept_as_base64_and_immutable_ones_do_not_change(room: Room) -> None:
    made = room.plain(
        room.core.create_namespaced_secret(
            room.namespace, {"metadata": {"name": "s"}, "stringData": {"a": "b"}, "immutable": True}
        )
    )
    assert (made["data"], made["type"]) == ({"a": "Yg=="}, "Opaque")
    with pytest.raises(ApiException) as raised:
        room.core.patch_namespaced_secret("s", room.namespace, {"data": {"a": "Yw=="}})
    assert raised.value.status == 422


def test_an_object_goes_with_its_owner(room: Room) -> None:
    made = room.create(job("owner", "print(1)", suspend=True))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "owner", "uid": made["metadata"]["uid"]}
    secret = {"metadata": {"name": "owned", "ownerReferences": [owner]}, "stringData": {"a": "b"}}
    room.core.create_namespaced_secret(room.namespace, secret)
    room.batch.delete_namespaced_job("owner", room.namespace, propagation_policy="Background")
    until(lambda: not room.core.list_namespaced_secret(room.namespace, field_selector="metadata.name=owned").items)
