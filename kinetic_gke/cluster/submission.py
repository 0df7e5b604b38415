"""Submission: a job's objects are made once, whatever becomes of the answers."""

from collections.abc import Mapping
from typing import Any

from kinetic_core.errors import SubmissionError
from kinetic_core.model.job import JobSpec
from kinetic_gke.cluster.client import Client, Json
from kinetic_gke.cluster.refusal import Refusal, explained
from kinetic_gke.manifest.names import ANNOTATION_JOB_URL, job_name
from kinetic_gke.manifest.secret import secret_manifest
from kinetic_gke.manifest.service import service_manifest
from kinetic_gke.manifest.site import Site


def create_job(client: Client, spec: JobSpec, site: Site, manifest: Mapping[str, Any]) -> Json:
    """Create a job's Job and what it owns, or find what was created before; return the Job.

    An answer that was lost is asked for again: the server then says that there is such a Job, and it is ours.

    Args:
        client: Of the cluster.
        spec: The job.
        site: Its surroundings.
        manifest: Of its Job.

    Raises:
        SubmissionError: The cluster refuses; nothing of the job is left there.
    """
    job = _created_or_found(client, site, manifest, spec.job_url)
    owner_uid = str(job["metadata"]["uid"])
    try:
        _create_owned(client, "Secret", "create_namespaced_secret", secret_manifest(spec, site, owner_uid=owner_uid))
        _create_owned(client, "Service", "create_namespaced_service", service_manifest(spec, site, owner_uid=owner_uid))
    except BaseException:
        # Its pods would wait for ever for what is not there.
        delete_job(client, site.namespace, job_name(spec.job_id))
        raise
    return job


def delete_job(client: Client, namespace: str, name: str) -> None:
    """Delete a Job with all that it owns; nothing happens where there is none.

    Raises:
        ClusterError: The cluster refuses.
    """
    client.found(
        f"delete the Job {name!r}",
        lambda apis, options: apis.batch.delete_namespaced_job(
            name, namespace, propagation_policy="Background", **options
        ),
    )


def _created_or_found(client: Client, site: Site, manifest: Mapping[str, Any], job_url: str) -> Json:
    name, wish = str(manifest["metadata"]["name"]), "create the Job"
    try:
        return client.ask(
            wish,
            lambda apis, options: apis.batch.create_namespaced_job(site.namespace, dict(manifest), **options),
        )
    except Refusal as refusal:
        if not refusal.is_there:
            found = _read(client, site.namespace, name) if refusal.may_pass else None
            if found is None:
                raise SubmissionError(explained(refusal, wish=wish, where=client.access.name)) from refusal
        else:
            found = _read(client, site.namespace, name)
    if found is None:
        raise SubmissionError(f"{client.access.name} said that there is a Job {name!r}, and then that there is none")
    theirs = (found["metadata"].get("annotations") or {}).get(ANNOTATION_JOB_URL)
    if theirs != job_url:
        raise SubmissionError(
            f"{client.access.name} has a Job {name!r} that is another's: its artifacts lie at {theirs!r}, and this "
            f"job's at {job_url!r}; submit again, which takes another id"
        )
    return found


def _read(client: Client, namespace: str, name: str) -> Json | None:
    return client.found(
        f"show the Job {name!r}",
        lambda apis, options: apis.batch.read_namespaced_job(name, namespace, **options),
    )


def _create_owned(client: Client, kind: str, method: str, manifest: Mapping[str, Any] | None) -> None:
    if manifest is None:
        return
    wish = f"create the {kind} of the job"
    try:
        client.ask(
            wish,
            lambda apis, options: getattr(apis.core, method)(
                manifest["metadata"]["namespace"], dict(manifest), **options
            ),
        )
    except Refusal as refusal:
        if not refusal.is_there:
            raise SubmissionError(explained(refusal, wish=wish, where=client.access.name)) from refusal
