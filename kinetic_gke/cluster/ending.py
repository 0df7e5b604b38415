"""Ending a job from outside, in a way that every process can tell afterwards."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kinetic_gke.cluster.arrays import drop_index
from kinetic_gke.cluster.namespace import Namespace
from kinetic_gke.diagnosis.look import Look
from kinetic_gke.diagnosis.mark import Mark, ending_patch, index_patch, mark_of, releasing_patch


def end_job(namespace: Namespace, look: Look, mark: Mark) -> None:
    """Mark a Job and let the cluster end its pods; nothing happens where it is marked already, or gone.

    Args:
        namespace: Of the Job.
        look: At it.
        mark: How it ends, and why.

    Raises:
        ClusterError: The cluster refuses, or does not answer.
    """
    name = str(look.job["metadata"]["name"])
    namespace.expect(name, lambda job: job is not None and mark_of(job) is not None)
    is_suspended = bool(look.job["spec"].get("suspend"))
    if mark_of(look.job) is None:
        _patch(namespace, name, ending_patch(mark, is_suspended=is_suspended))
    if is_suspended:
        _patch(namespace, name, releasing_patch())


def end_index(namespace: Namespace, look: Look, index: int, at: datetime) -> None:
    """Mark one index of an array as cancelled, and let its pod end, or never start.

    Args:
        namespace: Of the Job.
        look: At the job.
        index: Its index.
        at: When.

    Raises:
        ClusterError: The cluster refuses, or does not answer.
    """
    name = str(look.job["metadata"]["name"])
    namespace.expect(name, lambda job: job is not None and mark_of(job, index) is not None)
    _patch(namespace, name, index_patch(index, at))
    drop_index(namespace.client, namespace.name, look.job, index)


def _patch(namespace: Namespace, name: str, body: Mapping[str, Any]) -> None:
    namespace.client.found(
        f"end the Job {name!r}",
        lambda apis, options: apis.batch.patch_namespaced_job(name, namespace.name, dict(body), **options),
    )
