"""One job as one `batch/v1` Job: a pod, or as many pods as its TPU slice has hosts."""

from typing import Any, Final

from kinetic_core.errors import ConfigError
from kinetic_core.model.accelerator import parse_accelerator
from kinetic_core.model.job import JobSpec
from kinetic_gke.accelerators import Hardware, hardware
from kinetic_gke.manifest.names import QUEUE, job_labels, job_name
from kinetic_gke.manifest.pod import WORKER, annotations, pod_template
from kinetic_gke.manifest.site import Site

API_VERSION: Final = "batch/v1"
KIND: Final = "Job"


def job_manifest(spec: JobSpec, site: Site) -> dict[str, Any]:
    """Return the Job of one job.

    Args:
        spec: The job, complete.
        site: Its surroundings in the cluster.

    Raises:
        ConfigError: The accelerator is not to be had, retries are asked of a slice on several hosts, or a label,
            a secret's name or a volume cannot be expressed.
    """
    wanted = job_hardware(spec)
    if wanted.hosts > 1 and spec.options.retries:
        raise ConfigError(
            f"retries={spec.options.retries} with {spec.options.accelerator!r}: a Job replaces one host alone, and the "
            "others would wait for it for ever; use backend='pathways', which restarts all of them, or retries=0"
        )
    behaviour: dict[str, Any] = {"backoffLimit": spec.options.retries}
    if wanted.hosts > 1:
        behaviour |= {"completionMode": "Indexed", "completions": wanted.hosts, "parallelism": wanted.hosts}
    if spec.options.retries:
        behaviour["podFailurePolicy"] = failure_policy("FailJob")
    return manifest(spec, site, wanted, behaviour)


def job_hardware(spec: JobSpec) -> Hardware:
    """Return what the job's accelerator means here.

    Raises:
        ConfigError: It is not to be had.
    """
    return hardware(parse_accelerator(spec.options.accelerator), spot=spec.options.spot)


def manifest(spec: JobSpec, site: Site, wanted: Hardware, behaviour: dict[str, Any]) -> dict[str, Any]:
    """Return a Job whose pods run as the behaviour says.

    Raises:
        ConfigError: A label, a secret's name or a volume cannot be expressed.
    """
    labels = job_labels(spec)
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": job_name(spec.job_id),
            "namespace": site.namespace,
            "labels": labels,
            "annotations": annotations(spec),
        },
        "spec": {
            **behaviour,
            # Kueue starts it; without this it would run beside the queue until Kueue looks.
            **({"suspend": True} if QUEUE in labels else {}),
            "ttlSecondsAfterFinished": site.debug_ttl_s if spec.options.debug else site.ttl_s,
            "template": pod_template(spec, site, wanted),
        },
    }


def failure_policy(action: str) -> dict[str, Any]:
    """Return what is tried again: pods that were taken away count against the retries, the job's own exit does not.

    Args:
        action: What an exit of the worker's means: `FailJob`, or `FailIndex` in an array.
    """
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    # The first rule that fits counts: a worker that ends because its node goes away is disrupted, whatever its code.
    return {
        "rules": [
            {"action": "Count", "onPodConditions": [disrupted]},
            {"action": action, "onExitCodes": {"containerName": WORKER, "operator": "NotIn", "values": [0]}},
        ]
    }
