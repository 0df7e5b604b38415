"""Arrays: many jobs in one Job, each of which can be found, and told that it is not wanted any more."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from kinetic_core.errors import SubmissionError
from kinetic_core.model.job import JobSpec
from kinetic_gke.cluster.client import Client, Json
from kinetic_gke.cluster.refusal import Refusal, explained
from kinetic_gke.manifest.array import cancelled_name
from kinetic_gke.manifest.names import ANNOTATION_ARRAY, ARRAY, selector
from kinetic_gke.manifest.owner import owner
from kinetic_gke.manifest.table import Table

_NOT_FOUND: Final = 404
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_JOB_NAME: Final = "batch.kubernetes.io/job-name"


@attrs.frozen(kw_only=True)
class Place:
    """Where a job is: the Job's name, and its index where that is an array."""

    name: str
    index: int | None = None


def table_of(job: Json) -> Table | None:
    """Return the table of an array; `None` where the Job is one job."""
    text = (job["metadata"].get("annotations") or {}).get(ANNOTATION_ARRAY)
    return None if text is None else Table.from_json(text)


def known_places(client: Client, namespace: str, specs: Sequence[JobSpec]) -> dict[str, Place]:
    """Return where jobs are that were submitted as part of an array before, by their ids.

    Raises:
        SubmissionError: The cluster refuses to tell.
    """
    wish = "list the arrays"
    try:
        answer = client.ask(
            wish,
            lambda apis, options: apis.batch.list_namespaced_job(
                namespace, label_selector=selector({ARRAY: "true"}), **options
            ),
        )
    except Refusal as refusal:
        raise SubmissionError(explained(refusal, wish=wish, where=client.access.name)) from refusal
    wanted = {spec.job_id for spec in specs}
    return {job_id: place for job in answer.get("items") or [] for job_id, place in places_in(job) if job_id in wanted}


def places_in(job: Json) -> Iterator[tuple[str, Place]]:
    """Yield the ids of an array's jobs with their places; nothing for any other Job."""
    table = table_of(job)
    if table is not None:
        name = str(job["metadata"]["name"])
        for index in range(len(table.numbers)):
            yield table.job_id(index), Place(name=name, index=index)


def drop_index(client: Client, namespace: str, job: Json, index: int) -> None:
    """Let an index never start, and end its pod where it has.

    Raises:
        ClusterError: The cluster refuses.
    """
    table = table_of(job)
    if table is None:
        return
    _tell_pods(client, namespace, job, cancelled_name(table.array_id), str(index))
    wanted = selector({_JOB_NAME: str(job["metadata"]["name"]), _INDEX: str(index)})
    client.sure(
        "end the pods of the job",
        lambda apis, options: apis.core.delete_collection_namespaced_pod(namespace, label_selector=wanted, **options),
    )


def _tell_pods(client: Client, namespace: str, job: Json, name: str, key: str) -> None:
    """Put a key into the ConfigMap that the array's pods look at; it is made when it is first needed."""
    body: dict[str, Any] = {"data": {key: ""}}
    owners = [owner(str(job["metadata"]["name"]), str(job["metadata"]["uid"]))]
    metadata: Mapping[str, Any] = {"name": name, "namespace": namespace, "ownerReferences": owners}
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **body}
    wish = "tell the pods of the array"
    try:
        try:
            client.ask(
                wish, lambda apis, options: apis.core.patch_namespaced_config_map(name, namespace, body, **options)
            )
        except Refusal as refusal:
            if refusal.status != _NOT_FOUND:
                raise
            client.ask(wish, lambda apis, options: apis.core.create_namespaced_config_map(namespace, whole, **options))
    except Refusal as refusal:
        if not refusal.is_there:
            raise client.error(refusal, wish) from None
        client.sure(wish, lambda apis, options: apis.core.patch_namespaced_config_map(name, namespace, body, **options))
