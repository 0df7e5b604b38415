"""The headless Service by which the hosts of one slice find one another."""

from typing import Any

from kinetic_core.model.job import JobSpec
from kinetic_gke.manifest.job import job_hardware
from kinetic_gke.manifest.names import APP, APP_VALUE, JOB_ID, job_labels, job_name
from kinetic_gke.manifest.owner import owned_by
from kinetic_gke.manifest.site import Site


def service_manifest(spec: JobSpec, site: Site, *, owner_uid: str) -> dict[str, Any] | None:
    """Return the job's Service, which goes when its Job goes; `None` where the job runs on one host.

    Args:
        spec: The job.
        site: Its surroundings.
        owner_uid: Of the Job, once it was created.

    Raises:
        ConfigError: The accelerator is not to be had, or a label cannot be used.
    """
    if job_hardware(spec).hosts == 1:
        return None
    labels = job_labels(spec)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": job_name(spec.job_id),
            "namespace": site.namespace,
            "labels": labels,
            "ownerReferences": owned_by(spec, owner_uid),
        },
        # Hosts look for one another before they are ready.
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {APP: APP_VALUE, JOB_ID: labels[JOB_ID]},
        },
    }
