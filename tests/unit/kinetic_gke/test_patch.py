"""Plugins change pods, within limits."""

import copy
from typing import Any

import pytest

from kinetic_core.errors import ConfigError
from kinetic_gke.manifest.job import job_manifest
from kinetic_gke.manifest.patch import merge_patch, patched_job
from tests.unit.kinetic_gke.manifests import BARE, job_spec


# Of RFC 7396, appendix A; what is no object there replaces the whole.
@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_does_what_the_rfc_shows(target: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy((target, patch))
    assert merge_patch(target, patch) == result
    assert (target, patch) == before


def test_patches_are_applied_in_the_order_of_the_plugins_names() -> None:
    job = job_manifest(job_spec(), BARE)
    kept = copy.deepcopy(job)
    made = patched_job(
        job,
        {
            "zone": {"spec": {"priorityClassName": "low"}},
            "acme": {
                "spec": {"priorityClassName": "high", "schedulerName": "ours"},
                "metadata": {"labels": {"x": "1"}},
            },
            "none": {},
        },
    )
    pod = made["spec"]["template"]["spec"]
    assert (pod["priorityClassName"], pod["schedulerName"]) == ("low", "ours")
    assert made["spec"]["template"]["metadata"]["labels"] == kept["spec"]["template"]["metadata"]["labels"] | {"x": "1"}
    assert pod["containers"] == kept["spec"]["template"]["spec"]["containers"]
    assert job == kept


WORKER = job_manifest(job_spec(), BARE)["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("patch", "hint"),
    [
        ({"spec": {"hostNetwork": True}}, "it has hostNetwork"),
        ({"spec": {"hostIPC": True, "hostPID": True}}, "hostIPC; it has hostPID"),
        ({"spec": {"restartPolicy": "OnFailure"}}, "restartPolicy"),
        ({"spec": {"containers": [{"name": "mine"}]}}, "'kinetic-worker', with command and args, is gone"),
        ({"spec": {"containers": [WORKER, WORKER]}}, "'kinetic-worker'"),
        ({"spec": {"containers": [WORKER | {"command": []}]}}, "'kinetic-worker'"),
        ({"spec": {"containers": None}}, "'kinetic-worker'"),
        ({"spec": {"containers": [WORKER | {"securityContext": {"privileged": True}}]}}, "may gain privileges"),
        (
            {"spec": {"initContainers": [{"name": "x", "securityContext": {"allowPrivilegeEscalation": True}}]}},
            "'x' may gain privileges",
        ),
        ({"spec": None}, "it has no spec"),
        ({"spec": "x"}, "it has no spec"),
        (["spec"], "an object of type list"),
    ],
)
def test_a_pod_that_is_never_sent_names_the_plugin_that_made_it(patch: Any, hint: str) -> None:
    with pytest.raises(ConfigError, match="plugin 'acme'") as refused:
        patched_job(job_manifest(job_spec(), BARE), {"acme": patch, "zone": {}})
    assert hint in str(refused.value)


def test_a_sidecar_and_capabilities_are_the_sites_affair() -> None:
    worker = WORKER | {"securityContext": {"capabilities": {"add": ["SYS_RESOURCE"]}}}
    made = patched_job(
        job_manifest(job_spec(), BARE), {"acme": {"spec": {"containers": [worker, {"name": "log", "image": "fluent"}]}}}
    )
    assert [one["name"] for one in made["spec"]["template"]["spec"]["containers"]] == ["kinetic-worker", "log"]
