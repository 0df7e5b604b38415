"""Who may do what."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config
from kubernetes.client import ApiException

from tests.fakes.kube.bodies import job
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.waiting import Room, until

RBAC = "rbac.authorization.k8s.io"


@pytest.fixture
def as_user(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[[str], client.ApiClient]]:
    """Return what logs somebody in."""
    with ExitStack() as clients:

        def log_in(user: str) -> client.ApiClient:
            path = cluster.kubeconfig(tmp_path / user, user=user)
            made: client.ApiClient = clients.enter_context(config.new_client_from_config(str(path)))
            return made

        yield log_in


def allow(room: Room, subject: Obj, *rules: Obj) -> None:
    """Bind the subject to a role with the rules."""
    rbac: Any = client.RbacAuthorizationV1Api(room.api)
    rbac.create_namespaced_role(room.namespace, {"metadata": {"name": "some"}, "rules": list(rules)})
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "some"}
    body = {"metadata": {"name": "some"}, "roleRef": reference, "subjects": [subject]}
    rbac.create_namespaced_role_binding(room.namespace, body)


def rule(resource: str, *verbs: str, group: str = "") -> Obj:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def may(api: client.ApiClient, namespace: str, verb: str, resource: str, group: str = "", sub: str = "") -> bool:
    """Ask the server whether the caller may."""
    wish = {"namespace": namespace, "verb": verb, "resource": resource, "group": group, "subresource": sub}
    reviews: Any = client.AuthorizationV1Api(api)
    answer = reviews.create_self_subject_access_review({"spec": {"resourceAttributes": wish}})
    return bool(answer.status.allowed)


def test_a_role_allows_what_it_names_and_nothing_else(room: Room, as_user: Callable[[str], client.ApiClient]) -> None:
    subject = {"apiGroup": RBAC, "kind": "User", "name": "ann"}
    allow(room, subject, rule("jobs", "create", "get", group="batch"), rule("pods/log", "get"))
    ann = as_user("ann")
    theirs = Room(ann, room.namespace)
    theirs.create(job("hers", "print(1)", suspend=True))
    assert theirs.job("hers")["metadata"]["name"] == "hers"
    with pytest.raises(ApiException) as raised:
        theirs.batch.delete_namespaced_job("hers", room.namespace)
    assert raised.value.status == 403
    told = f'User "ann" cannot delete resource "jobs" in API group "batch" in the namespace "{room.namespace}"'
    assert told in json.loads(str(raised.value.body))["message"]
    with pytest.raises(ApiException) as elsewhere:
        Room(ann, "default").job("hers")
    assert elsewhere.value.status == 403


def test_access_reviews_say_what_the_requests_would_meet(
    room: Room, as_user: Callable[[str], client.ApiClient]
) -> None:
    subject = {"apiGroup": RBAC, "kind": "User", "name": "bob"}
    allow(room, subject, rule("jobs", "create", group="batch"), rule("pods/log", "get"))
    bob = as_user("bob")
    assert may(bob, room.namespace, "create", "jobs", "batch")
    assert may(bob, room.namespace, "get", "pods", sub="log")
    assert not may(bob, room.namespace, "get", "pods")
    assert not may(bob, "default", "create", "jobs", "batch")
    assert may(room.api, room.namespace, "delete", "secrets")


def test_a_service_account_has_tokens_and_roles(room: Room, cluster: Cluster, tmp_path: Path) -> None:
    room.core.create_namespaced_service_account(room.namespace, {"metadata": {"name": "robot"}})
    allow(room, {"kind": "ServiceAccount", "name": "robot", "namespace": room.namespace}, rule("pods", "list"))
    answer = room.core.create_namespaced_service_account_token(
        "robot", room.namespace, {"spec": {"audiences": [], "expirationSeconds": 600}}
    )
    path = cluster.kubeconfig(tmp_path / "robot", token=answer.status.token)
    with config.new_client_from_config(str(path)) as api:
        assert Room(api, room.namespace).pods("none") == []
        assert not may(api, room.namespace, "list", "secrets")


def test_a_token_that_is_revoked_is_nobodys(cluster: Cluster, as_user: Callable[[str], client.ApiClient]) -> None:
    eve = as_user("eve")
    may(eve, "default", "get", "pods")
    cluster.act("revoke", user="eve")
    with pytest.raises(ApiException) as raised:
        may(eve, "default", "get", "pods")
    assert raised.value.status == 401


def test_a_pod_of_an_unknown_service_account_is_not_made_and_the_job_says_so(room: Room) -> None:
    room.create(job("nobody", "print(1)", pod={"serviceAccountName": "nobody"}))
    told = [event["message"] for event in wait_for(room, "FailedCreate")]
    assert 'serviceaccount "nobody" not found' in told[0]


def wait_for(room: Room, reason: str) -> list[Obj]:
    """Return the events of that reason, once there are any."""
    return until(lambda: [event for event in room.events() if event["reason"] == reason], why=reason)
