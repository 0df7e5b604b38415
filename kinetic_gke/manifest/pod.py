"""The pod template: one worker container that runs the runner, and what it needs around it."""

import math
from collections.abc import Mapping
from typing import Any, Final

from kinetic_core.model.job import JobSpec
from kinetic_gke.accelerators import Hardware
from kinetic_gke.manifest.command import carry_command, worker_arguments, worker_command
from kinetic_gke.manifest.environment import DEBUG_PORT, worker_environment
from kinetic_gke.manifest.names import (
    ANNOTATION_ACCELERATOR,
    ANNOTATION_JOB_URL,
    ANNOTATION_NAME,
    job_name,
    pod_labels,
)
from kinetic_gke.manifest.scheduling import node_selector, resources, tolerations
from kinetic_gke.manifest.site import Site
from kinetic_gke.manifest.volumes import Volumes, pod_volumes, runner_mount

WORKER: Final = "kinetic-worker"
BRINGER: Final = "kinetic-runner"
# TPU hosts of one slice talk over the first; the second answers with metrics.
_TPU_PORTS: Final = (8471, 8431)


def pod_template(spec: JobSpec, site: Site, hardware: Hardware) -> dict[str, Any]:
    """Return the template of a job's pods.

    Args:
        spec: The job.
        site: Its surroundings.
        hardware: What its accelerator means here.

    Raises:
        ConfigError: A label, a secret's name or a volume cannot be expressed.
    """
    volumes = pod_volumes(spec.volumes, brings_runner=bool(site.runner_image))
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": site.mounts_token,
        "enableServiceLinks": False,
        "securityContext": _pod_security(site),
        "tolerations": tolerations(hardware),
        "containers": [_worker(spec, site, hardware, volumes)],
    }
    optional: dict[str, Any] = {
        "activeDeadlineSeconds": _deadline_s(spec),
        "initContainers": [_bringer(spec, site)] if site.runner_image else None,
        "nodeSelector": node_selector(hardware),
        "serviceAccountName": site.service_account,
        "subdomain": job_name(spec.job_id) if hardware.hosts > 1 else "",
        "volumes": [*volumes.volumes],
    }
    return {
        "metadata": {"labels": pod_labels(spec), "annotations": {**annotations(spec), **volumes.annotations}},
        "spec": pod | {key: value for key, value in optional.items() if value},
    }


def annotations(spec: JobSpec) -> dict[str, str]:
    """Return what a person, or `find`, wants to know of a job: its name, and where its artifacts lie."""
    return {
        ANNOTATION_NAME: spec.name,
        ANNOTATION_JOB_URL: spec.job_url,
        ANNOTATION_ACCELERATOR: spec.options.accelerator,
    }


def _deadline_s(spec: JobSpec) -> int | None:
    """Return the limit of one attempt; it counts from when the pod is on its node, not while it waits for one."""
    timeout_s = spec.options.timeout
    return None if timeout_s is None else math.ceil(timeout_s)


def _worker(spec: JobSpec, site: Site, hardware: Hardware, volumes: Volumes) -> dict[str, Any]:
    ports = [*(_TPU_PORTS if hardware.hosts > 1 else ()), *((DEBUG_PORT,) if spec.options.debug else ())]
    return _container(
        WORKER,
        site.image,
        worker_command(site),
        args=worker_arguments(spec, site),
        env=worker_environment(spec, site, hosts=hardware.hosts),
        resources=resources(hardware, site),
        ports=[{"containerPort": port} for port in ports],
        volumeMounts=[*volumes.mounts],
    )


def _bringer(spec: JobSpec, site: Site) -> dict[str, Any]:
    asked = {"cpu": "100m", "memory": "128Mi"}
    return _container(
        BRINGER,
        site.runner_image,
        carry_command(spec, site),
        resources={"requests": asked},
        volumeMounts=[runner_mount(read_only=False)],
    )


def _container(name: str, image: str, command: list[str], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "image": image,
        "command": command,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        # What a container prints last is its message where it failed and said nothing else.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        **{key: value for key, value in more.items() if value},
    }


def _pod_security(site: Site) -> Mapping[str, Any]:
    security: dict[str, Any] = {"seccompProfile": {"type": "RuntimeDefault"}}
    if site.run_as_user is not None:
        user = site.run_as_user
        security |= {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": user, "fsGroup": user}
    return security
