"""The Secret that holds what a job's function may know and nobody else."""

import base64
from typing import Any

from kinetic_core.model.job import JobSpec
from kinetic_gke.manifest.environment import secret_names
from kinetic_gke.manifest.names import job_labels, job_name
from kinetic_gke.manifest.owner import owned_by
from kinetic_gke.manifest.site import Site


def secret_manifest(spec: JobSpec, site: Site, *, owner_uid: str) -> dict[str, Any] | None:
    """Return the job's Secret, which goes when its Job goes; `None` where the job has no secrets.

    Args:
        spec: The job.
        site: Its surroundings.
        owner_uid: Of the Job, once it was created; its pods wait for the Secret.

    Raises:
        ConfigError: A secret's name cannot be a key of a Secret, or a label cannot be used.
    """
    names = secret_names(spec)
    if not names:
        return None
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": job_name(spec.job_id),
            "namespace": site.namespace,
            "labels": job_labels(spec),
            "ownerReferences": owned_by(spec, owner_uid),
        },
        "type": "Opaque",
        "data": {name: _encoded(spec.secrets[name]) for name in names},
    }


def _encoded(value: str) -> str:
    return base64.b64encode(value.encode("utf-8", "surrogateescape")).decode("ascii")
