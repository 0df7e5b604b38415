"""Many jobs that differ in their arguments as one Indexed Job: one object, one create call."""

from typing import Any, Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobSpec
from kinetic_core.wire.names import ENV_JOB_ID, ENV_OUTPUT_DIR
from kinetic_gke.manifest.command import CANCELLED_FOLDER, ENV_INDEX, ENV_TABLE, indexed_command, literal
from kinetic_gke.manifest.job import failure_policy, job_hardware, manifest
from kinetic_gke.manifest.names import ANNOTATION_ARRAY, ARRAY, job_name
from kinetic_gke.manifest.site import Site
from kinetic_gke.manifest.table import Table

MOST_JOBS: Final = 100_000
MOST_AT_ONCE: Final = 10_000
"""Of an Indexed Job that limits attempts by index, as the API server does."""
_ANNOTATION: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
_HOST_INDEX: Final = "JOB_COMPLETION_INDEX"
_CANCELLED: Final = "cancelled"


@attrs.frozen(kw_only=True)
class ArraySpec:
    """A batch, or a part of one, as one object.

    Payloads go unverified: their hashes differ and would stand in the object, one for each job.
    """

    spec: JobSpec
    """Any of the jobs: all are like it, but for what the table says."""
    table: Table
    max_concurrent: int | None = None

    def __attrs_post_init__(self) -> None:
        if not 1 <= len(self.table.numbers) <= MOST_JOBS:
            raise ConfigError(f"an array has 1 to {MOST_JOBS} jobs, got {len(self.table.numbers)}; split the batch")
        if self.max_concurrent is not None and self.max_concurrent < 1:
            raise ConfigError(f"max_concurrent must be 1 or more, got {self.max_concurrent}")

    @property
    def common(self) -> JobSpec:
        """Return what is the same for all, under the array's own id."""
        return attrs.evolve(self.spec, job_id=self.table.array_id)


def array_manifest(array: ArraySpec, site: Site) -> dict[str, Any]:
    """Return the Job of a whole batch: an index is a job, with attempts of its own.

    Raises:
        ConfigError: As `job_manifest`; or each job would need more than one host.
    """
    spec, count = array.common, len(array.table.numbers)
    wanted = job_hardware(spec)
    if wanted.hosts > 1:
        raise ConfigError(
            f"a batch on {spec.options.accelerator!r} cannot be one array, for each job needs {wanted.hosts} hosts; "
            "take a slice on one host, or submit the jobs one by one"
        )
    behaviour = {
        "completionMode": "Indexed",
        "completions": count,
        "parallelism": min(array.max_concurrent or count, count, MOST_AT_ONCE),
        "backoffLimitPerIndex": spec.options.retries,
        "podFailurePolicy": failure_policy("FailIndex"),
    }
    made = manifest(spec, site, wanted, behaviour)
    made["metadata"]["labels"] = {**made["metadata"]["labels"], ARRAY: "true"}
    made["metadata"]["annotations"] = {**made["metadata"]["annotations"], ANNOTATION_ARRAY: array.table.to_json()}
    pod = made["spec"]["template"]["spec"]
    (worker,) = pod["containers"]
    worker["command"] = indexed_command(site)
    worker["args"] = _arguments(worker["args"])
    worker["env"] = _environment(worker["env"], array.table)
    named = cancelled_name(array.table.array_id)
    pod["volumes"] = [*pod.get("volumes", ()), {"name": _CANCELLED, "configMap": {"name": named, "optional": True}}]
    mount = {"name": _CANCELLED, "mountPath": CANCELLED_FOLDER, "readOnly": True}
    worker["volumeMounts"] = [*worker.get("volumeMounts", ()), mount]
    return made


def cancelled_name(array_id: str) -> str:
    """Return the name of the ConfigMap by which pods learn that they are not wanted any more."""
    return job_name(array_id)


def _arguments(arguments: list[str]) -> list[str]:
    """Return what all jobs have in common; the rest is the table's."""
    own = ("--payload", "--payload-sha256", "--result")
    pairs = zip(arguments[::2], arguments[1::2], strict=True)
    return [word for flag, value in pairs if flag not in own for word in (flag, value)]


def _environment(environment: list[dict[str, Any]], table: Table) -> list[dict[str, Any]]:
    """Return the variables: the index and the table, of which the job makes its own.

    The controller would add the index under a name by which the runner knows the hosts of one job.
    """
    return [
        {"name": ENV_INDEX, "valueFrom": {"fieldRef": {"fieldPath": _ANNOTATION}}},
        {"name": ENV_TABLE, "value": literal(table.to_json())},
        *(one for one in environment if one["name"] not in {ENV_JOB_ID, ENV_OUTPUT_DIR}),
        {"name": _HOST_INDEX, "value": "0"},
    ]
