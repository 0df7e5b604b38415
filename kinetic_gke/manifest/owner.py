"""Who owns what goes together with a job."""

from typing import Any

from kinetic_core.model.job import JobSpec
from kinetic_gke.manifest.job import API_VERSION, KIND
from kinetic_gke.manifest.names import job_name


def owned_by(spec: JobSpec, uid: str) -> list[dict[str, Any]]:
    """Return the owner references of an object that the cluster removes with the job's Job."""
    return [owner(job_name(spec.job_id), uid)]


def owner(name: str, uid: str) -> dict[str, Any]:
    """Return the reference to a Job that owns."""
    return {"apiVersion": API_VERSION, "kind": KIND, "name": name, "uid": uid}
