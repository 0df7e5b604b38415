"""What is sent to the cluster: as it was last looked at, and as servers take it."""

import copy
import json
from typing import Any

import attrs
import kubernetes_validate
import pytest

from kinetic_core.errors import ConfigError
from kinetic_gke.manifest.job import job_manifest
from kinetic_gke.manifest.names import selector
from tests.unit.kinetic_gke.manifests import BARE, BUNDLED, CASES, GOLDEN, UID, job_spec, objects, written

# The oldest that limits attempts by index, and the one whose answers were recorded.
SERVERS = ("1.29", "1.36")


@pytest.mark.parametrize("name", CASES)
def test_the_objects_are_those_that_were_last_looked_at(name: str) -> None:
    # `python -m tests.unit.kinetic_gke.manifests` writes them anew.
    assert written(CASES[name]()) == GOLDEN.joinpath(f"{name}.json").read_text(encoding="utf-8")


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(CASES)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("name", CASES)
def test_servers_old_and_new_know_every_field(name: str, server: str) -> None:
    for made in CASES[name]():
        assert kubernetes_validate.validate(made, server, strict=True) == server


@pytest.mark.parametrize("server", SERVERS)
def test_an_unknown_field_would_be_found(server: str) -> None:
    (made,) = objects(job_spec())
    made["spec"]["template"]["spec"]["hostNetwrok"] = True
    with pytest.raises(kubernetes_validate.ValidationError, match="hostNetwrok"):
        kubernetes_validate.validate(made, server, strict=True)


@pytest.mark.parametrize("name", CASES)
def test_no_pod_shares_its_node_or_may_gain_privileges(name: str) -> None:
    job = CASES[name]()[0]
    pod = job["spec"]["template"]["spec"]
    assert [key for key in pod if key.startswith("host")] == []
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


@pytest.mark.parametrize("name", CASES)
def test_objects_of_a_job_are_found_by_its_labels(name: str) -> None:
    made = CASES[name]()
    labels = {key: made[0]["metadata"]["labels"][key] for key in ("app", "job-id")}
    assert selector(labels) == f"app=kinetic,job-id={labels['job-id']}"
    for one in [*made, made[0]["spec"]["template"]]:
        assert labels.items() <= one["metadata"]["labels"].items()


def test_what_the_function_alone_may_know_stands_in_the_secret_alone() -> None:
    spec = attrs.evolve(job_spec(capture_env_vars=["MODE"]), secrets={"HF_TOKEN": "hunter2 ünd\udcff"})
    job, secret = objects(spec)
    assert "hunter2" not in json.dumps(job)
    assert "MODE" not in json.dumps(job)
    assert secret["data"] == {"HF_TOKEN": "aHVudGVyMiDDvG5k/w=="}
    assert secret["metadata"]["ownerReferences"][0]["uid"] == UID


def test_a_secret_does_not_hide_what_says_which_job_this_is() -> None:
    job, _ = objects(attrs.evolve(job_spec(), secrets={"KINETIC_JOB_ID": "x"}))
    env = job["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [one["value"] for one in env if one["name"] == "KINETIC_JOB_ID"] == ["job-0a1b2c3d"]


def test_a_secret_whose_name_no_secret_takes_is_refused() -> None:
    with pytest.raises(ConfigError, match="'A B', 'ü'") as refused:
        objects(attrs.evolve(job_spec(), secrets={"ü": "1", "A B": "2", "FINE": "hunter2"}))
    assert "hunter2" not in str(refused.value)


def test_dollar_signs_reach_the_runner_as_they_are() -> None:
    (job,) = objects(attrs.evolve(job_spec(), result_url="gs://b/$(HOME)/r.pkl", output_dir="gs://b/$x"))
    worker = job["spec"]["template"]["spec"]["containers"][0]
    assert "gs://b/$$(HOME)/r.pkl" in worker["args"]
    assert {"name": "KINETIC_OUTPUT_DIR", "value": "gs://b/$$x"} in worker["env"]


def test_only_what_was_taken_from_the_job_is_tried_again() -> None:
    once, thrice = (job_manifest(job_spec(retries=retries), BUNDLED)["spec"] for retries in (0, 3))
    assert (once["backoffLimit"], "podFailurePolicy" in once) == (0, False)
    assert thrice["backoffLimit"] == 3
    assert [rule["action"] for rule in thrice["podFailurePolicy"]["rules"]] == ["Count", "FailJob"]


def test_a_slice_of_several_hosts_is_never_restarted_in_part() -> None:
    with pytest.raises(ConfigError, match="backend='pathways'"):
        job_manifest(job_spec(accelerator="v5litepod-16", retries=1), BUNDLED)


@pytest.mark.parametrize(
    ("options", "site", "ttl_s"),
    [
        ({}, BUNDLED, 600),
        ({"debug": True}, BUNDLED, 7200),
        ({}, attrs.evolve(BARE, ttl_s=60), 60),
    ],
)
def test_an_ended_job_goes_after_its_time(options: dict[str, Any], site: Any, ttl_s: int) -> None:
    assert job_manifest(job_spec(**options), site)["spec"]["ttlSecondsAfterFinished"] == ttl_s


def test_the_time_limit_is_one_attempts_and_does_not_count_the_wait_for_a_node() -> None:
    spec = job_manifest(job_spec(timeout=0.5), BUNDLED)["spec"]
    assert "activeDeadlineSeconds" not in spec
    assert spec["template"]["spec"]["activeDeadlineSeconds"] == 1


def test_a_manifest_is_made_of_its_arguments_alone() -> None:
    spec = job_spec(labels={"team": "a"}, accelerator="l4")
    made = job_manifest(spec, BARE)
    kept = copy.deepcopy(made)
    made["spec"]["template"]["spec"]["containers"].clear()
    assert job_manifest(spec, BARE) == kept
