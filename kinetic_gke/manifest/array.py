"""Many jobs that differ in their arguments as one Indexed Job: one object, one create call."""

from typing import Any, Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobSpec
from kinetic_core.wire.names import ENV_JOB_ID, ENV_OUTPUT_DIR
from kinetic_gke.manifest.job import failure_policy, job_hardware, manifest
from kinetic_gke.manifest.site import Site

ENV_INDEX: Final = "KINETIC_ARRAY_INDEX"
MOST_JOBS: Final = 100_000
MOST_AT_ONCE: Final = 10_000
"""Of an Indexed Job that limits attempts by index, as the API server does."""
_INDEX: Final = "{index}"
_ANNOTATION: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
_HOST_INDEX: Final = "JOB_COMPLETION_INDEX"


@attrs.frozen(kw_only=True)
class ArraySpec:
    """A batch as one object. What differs from job to job is told by `{index}`, which counts from 0.

    Payloads go unverified: their hashes differ and would stand in the object, one for each job.
    """

    common: JobSpec
    """What is the same for all, under the batch's own id; its payload, result and output directory are not used."""
    count: int
    payload_url: str
    """Such as `gs://bucket/batch-0a1b2c3d/{index}/payload.pkl`."""
    result_url: str
    output_dir: str
    max_concurrent: int | None = None

    def __attrs_post_init__(self) -> None:
        for name in ("payload_url", "result_url", "output_dir"):
            if _INDEX not in getattr(self, name):
                raise ConfigError(f"an array's {name} must hold {_INDEX}, got {getattr(self, name)!r}")
        if not 1 <= self.count <= MOST_JOBS:
            raise ConfigError(f"an array has 1 to {MOST_JOBS} jobs, got {self.count}; split the batch")
        if self.max_concurrent is not None and self.max_concurrent < 1:
            raise ConfigError(f"max_concurrent must be 1 or more, got {self.max_concurrent}")


def array_manifest(array: ArraySpec, site: Site) -> dict[str, Any]:
    """Return the Job of a whole batch: an index is a job, with attempts of its own.

    Raises:
        ConfigError: As `job_manifest`; or each job would need more than one host.
    """
    spec = array.common
    wanted = job_hardware(spec)
    if wanted.hosts > 1:
        raise ConfigError(
            f"a batch on {spec.options.accelerator!r} cannot be one array, for each job needs {wanted.hosts} hosts; "
            "take a slice on one host, or submit the jobs one by one"
        )
    behaviour = {
        "completionMode": "Indexed",
        "completions": array.count,
        "parallelism": min(array.max_concurrent or array.count, array.count, MOST_AT_ONCE),
        "backoffLimitPerIndex": spec.options.retries,
        "podFailurePolicy": failure_policy("FailIndex"),
    }
    made = manifest(spec, site, wanted, behaviour)
    (worker,) = made["spec"]["template"]["spec"]["containers"]
    worker["args"] = _arguments(worker["args"], array)
    worker["env"] = _environment(worker["env"], array)
    return made


def _arguments(arguments: list[str], array: ArraySpec) -> list[str]:
    flags = dict(zip(arguments[::2], arguments[1::2], strict=True))
    del flags["--payload-sha256"]
    flags |= {"--payload": _by_index(array.payload_url), "--result": _by_index(array.result_url)}
    return [word for flag in flags.items() for word in flag]


def _environment(environment: list[dict[str, Any]], array: ArraySpec) -> list[dict[str, Any]]:
    """Return the variables: the index first, for the others are made of it.

    The controller would add the index under a name by which the runner knows the hosts of one job.
    """
    changed = {ENV_JOB_ID: f"{array.common.job_id}-{_INDEX}", ENV_OUTPUT_DIR: array.output_dir}
    return [
        {"name": ENV_INDEX, "valueFrom": {"fieldRef": {"fieldPath": _ANNOTATION}}},
        *(
            {"name": one["name"], "value": _by_index(changed[one["name"]])} if one["name"] in changed else one
            for one in environment
        ),
        {"name": _HOST_INDEX, "value": "0"},
    ]


def _by_index(text: str) -> str:
    return text.replace("$", "$$").replace(_INDEX, f"$({ENV_INDEX})")
