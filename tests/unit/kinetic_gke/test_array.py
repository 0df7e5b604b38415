"""A batch as one Indexed Job."""

import json

import attrs
import pytest

from kinetic_core.errors import ConfigError
from kinetic_gke.manifest.array import ArraySpec, array_manifest
from tests.unit.kinetic_gke.manifests import BUNDLED, array_of, job_spec

MOST_BYTES = 1_500_000  # that etcd takes in one request


def test_ten_thousand_inputs_are_one_small_object() -> None:
    made = array_manifest(array_of(10_000), BUNDLED)
    assert (made["spec"]["completions"], made["spec"]["parallelism"]) == (10_000, 64)
    assert len(json.dumps(made)) == len(json.dumps(array_manifest(array_of(20_000), BUNDLED))) < MOST_BYTES


@pytest.mark.parametrize(
    ("count", "max_concurrent", "parallelism"), [(3, None, 3), (3, 64, 3), (100_000, None, 10_000), (5, 2, 2)]
)
def test_no_more_run_at_once_than_was_said_than_there_are_and_than_the_server_takes(
    count: int, max_concurrent: int | None, parallelism: int
) -> None:
    array = attrs.evolve(array_of(count), max_concurrent=max_concurrent)
    assert array_manifest(array, BUNDLED)["spec"]["parallelism"] == parallelism


def test_every_index_has_attempts_of_its_own_and_fails_alone() -> None:
    spec = array_manifest(array_of(3, retries=2), BUNDLED)["spec"]
    assert spec["backoffLimitPerIndex"] == 2
    assert "backoffLimit" not in spec
    assert [rule["action"] for rule in spec["podFailurePolicy"]["rules"]] == ["Count", "FailIndex"]


def test_a_pod_knows_its_index_and_is_the_only_host_of_its_job() -> None:
    array = attrs.evolve(array_of(3), output_dir="gs://b/$x/{index}")
    worker = array_manifest(array, BUNDLED)["spec"]["template"]["spec"]["containers"][0]
    env = {one["name"]: one.get("value", one.get("valueFrom")) for one in worker["env"]}
    assert next(iter(env)) == "KINETIC_ARRAY_INDEX"
    assert env["KINETIC_JOB_ID"] == "batch-0a1b2c3d-$(KINETIC_ARRAY_INDEX)"
    assert env["KINETIC_OUTPUT_DIR"] == "gs://b/$$x/$(KINETIC_ARRAY_INDEX)"
    assert (env["JOB_COMPLETION_INDEX"], env["KINETIC_NUM_HOSTS"]) == ("0", "1")
    flags = dict(zip(worker["args"][::2], worker["args"][1::2], strict=True))
    assert flags["--payload"].endswith("/batch-0a1b2c3d/$(KINETIC_ARRAY_INDEX)/payload.pkl")
    assert flags["--result"].endswith("/batch-0a1b2c3d/$(KINETIC_ARRAY_INDEX)/result.pkl")
    assert "--payload-sha256" not in flags
    assert flags["--context-sha256"] == array.common.context.sha256


def test_jobs_on_several_hosts_are_no_array() -> None:
    with pytest.raises(ConfigError, match="each job needs 4 hosts"):
        array_manifest(array_of(3, accelerator="v6e-16"), BUNDLED)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"payload_url": "gs://b/payload.pkl"}, "payload_url must hold {index}"),
        ({"result_url": "gs://b/result.pkl"}, "result_url must hold"),
        ({"output_dir": "gs://b"}, "output_dir must hold"),
        ({"count": 0}, "1 to 100000 jobs, got 0"),
        ({"count": 100_001}, "split the batch"),
        ({"max_concurrent": 0}, "must be 1 or more"),
    ],
)
def test_what_cannot_be_an_array_is_refused(wrong: dict[str, object], hint: str) -> None:
    right: dict[str, object] = {
        "common": job_spec(),
        "count": 3,
        "payload_url": "gs://b/{index}/p",
        "result_url": "gs://b/{index}/r",
        "output_dir": "gs://b/{index}",
    }
    with pytest.raises(ConfigError, match=hint):
        ArraySpec(**(right | wrong))  # type: ignore[arg-type]  # of mixed types on purpose
