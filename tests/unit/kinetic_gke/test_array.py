"""A batch as one Indexed Job."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic_core.errors import ConfigError
from kinetic_gke.manifest.array import ArraySpec, array_manifest
from kinetic_gke.manifest.command import RUNNER_FOLDER
from kinetic_gke.manifest.table import Table, tables_of
from tests.unit.kinetic_gke.manifests import BARE, BUNDLED, array_of, job_spec, numbered

HERE = attrs.evolve(BARE, python=sys.executable)


def test_ten_thousand_inputs_are_one_small_object() -> None:
    made = array_manifest(array_of(10_000), BUNDLED)
    assert (made["spec"]["completions"], made["spec"]["parallelism"]) == (10_000, 64)
    assert len(json.dumps(made)) < 10_000


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


def ran(array: ArraySpec, index: int, folder: Path) -> dict[str, Any]:
    """Run the program of a pod, with something else in the runner's place; return what that was told."""
    worker = array_manifest(array, HERE)["spec"]["template"]["spec"]["containers"][0]
    package = folder / "kinetic_runner"
    package.mkdir(exist_ok=True)
    (package / "__main__.py").write_text(
        "import json, os, sys\nprint(json.dumps({'args': sys.argv[1:], 'env': dict(os.environ)}))\n"
    )
    env = {one["name"]: one.get("value", str(index)).replace("$$", "$") for one in worker["env"]}
    command = [str(folder) if word == RUNNER_FOLDER else word for word in worker["command"]]
    done = subprocess.run(
        [command[0], "-S", *command[1:], *worker["args"]], env=env, capture_output=True, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize(("numbers", "attempt"), [(range(12), 1), ([3, 7, 8, 9, 1000], 2)])
def test_a_pod_makes_of_its_index_what_the_job_was_submitted_with(
    numbers: Iterable[int], attempt: int, tmp_path: Path
) -> None:
    specs = [numbered(number, attempt=attempt, attempts=3) for number in numbers]
    (table,), _ = tables_of(specs)
    assert Table.from_json(table.to_json()) == table
    for index, spec in list(enumerate(specs))[-2:]:
        assert (table.job_id(index), table.job_url(index)) == (spec.job_id, spec.job_url)
        told = ran(ArraySpec(spec=specs[0], table=table), index, tmp_path)
        flags = dict(zip(told["args"][::2], told["args"][1::2], strict=True))
        assert (flags["--payload"], flags["--result"]) == (spec.payload.url, spec.result_url)
        assert flags["--context-sha256"] == spec.context.sha256
        assert "--payload-sha256" not in flags
        env = told["env"]
        assert (env["KINETIC_JOB_ID"], env["KINETIC_OUTPUT_DIR"]) == (spec.job_id, spec.output_dir)
        assert (env["JOB_COMPLETION_INDEX"], env["KINETIC_NUM_HOSTS"]) == ("0", "1")


def test_an_output_directory_that_the_user_named_is_every_jobs(tmp_path: Path) -> None:
    specs = [attrs.evolve(numbered(number), output_dir="gs://b/$x") for number in range(3)]
    (table,), _ = tables_of(specs)
    assert ran(ArraySpec(spec=specs[0], table=table), 1, tmp_path)["env"]["KINETIC_OUTPUT_DIR"] == "gs://b/$x"


def test_jobs_of_several_attempts_are_an_array_each_and_what_is_like_no_other_is_alone() -> None:
    firsts = [numbered(number, attempts=2) for number in range(4)]
    seconds = [numbered(number, attempt=2, attempts=2) for number in (1, 3)]
    odd = [job_spec(), numbered(9, attempt=2, attempts=6), attrs.evolve(numbered(7), result_url="gs://b/result.pkl")]
    tables, alone = tables_of([*firsts, *odd[:1], *seconds, *odd[2:]])
    assert sorted(table.numbers for table in tables) == [(0, 1, 2, 3), (1, 3)]
    assert alone == [odd[0], odd[2]]
    # Ids that follow no rule.
    tables, alone = tables_of([*seconds, odd[1]])
    assert (tables, len(alone)) == ([], 3)


def test_numbers_that_take_too_many_words_are_told_by_several_arrays() -> None:
    tables, alone = tables_of([numbered(2 * number) for number in range(3000)])
    assert alone == []
    assert sorted(number for table in tables for number in table.numbers) == list(range(0, 6000, 2))
    assert max(len(table.to_json()) for table in tables) < 5000
    assert len({table.array_id for table in tables}) == len(tables) > 1


def test_jobs_on_several_hosts_are_no_array() -> None:
    with pytest.raises(ConfigError, match="each job needs 4 hosts"):
        array_manifest(array_of(3, accelerator="v6e-16"), BUNDLED)


@pytest.mark.parametrize(
    ("count", "most", "hint"),
    [(100_001, 1, "split the batch"), (3, 0, "must be 1 or more")],
)
def test_what_cannot_be_an_array_is_refused(count: int, most: int, hint: str) -> None:
    table = attrs.evolve(array_of(2).table, numbers=tuple(range(count)))
    with pytest.raises(ConfigError, match=hint):
        ArraySpec(spec=job_spec(), table=table, max_concurrent=most)
