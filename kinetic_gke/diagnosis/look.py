"""One look at a job: its Job and its pods as they were answered, and the few questions that are asked of them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import attrs

from kinetic_gke.diagnosis.moment import moment
from kinetic_gke.manifest.pod import WORKER
from kinetic_gke.manifest.table import numbers_of

Json = Mapping[str, Any]

_INDEX: Final = "batch.kubernetes.io/job-completion-index"


@attrs.frozen(kw_only=True)
class Look:
    """A Job and its pods at about one time."""

    job: Json
    pods: Sequence[Json] = ()
    """Of the job, in the order of their creation."""
    index: int | None = None
    """Of the job in its array; `None` where the Job is the job alone."""
    takings: Sequence[Json] = ()
    """Events about pods that were taken away, where none of the pods is left to say so."""

    @property
    def hosts(self) -> int:
        """Return how many hosts the job has: each an index of its Job."""
        return int(self.job["spec"].get("completions") or 1) if self._is_slice else 1

    def of_host(self, host: int) -> list[Json]:
        """Return the pods that run, or ran, one host of the function: one for each attempt."""
        return [pod for pod in self.pods if index_of(pod) == host] if self._is_slice else list(self.pods)

    @property
    def _is_slice(self) -> bool:
        return self.index is None and self.job["spec"].get("completionMode") == "Indexed"

    def condition(self, kind: str) -> Json | None:
        """Return the Job's condition of a kind where it holds."""
        return holding(self.job, kind)


def look_at(job: Json, pods: Sequence[Json], index: int | None = None) -> Look:
    """Return a look at a job, with the pods that are its own.

    Args:
        job: The Job.
        pods: Of the Job, in any order.
        index: Of the job in its array.
    """
    own = [pod for pod in pods if index is None or index_of(pod) == index]
    own.sort(key=_order)
    return Look(job=job, pods=tuple(own), index=index)


def essence_of_job(job: Json) -> Json:
    """Return what is asked of a Job, for whoever keeps thousands: not its template."""
    metadata = {key: value for key, value in job["metadata"].items() if key != "managedFields"}
    spec = {key: value for key, value in job["spec"].items() if key != "template"}
    return {"metadata": metadata, "spec": spec, "status": job.get("status") or {}}


def essence_of_pod(pod: Json) -> Json:
    """Return what is asked of a pod: neither how it is run nor who wrote that."""
    metadata = {key: value for key, value in pod["metadata"].items() if key != "managedFields"}
    containers = [
        {"name": container["name"], "resources": container.get("resources") or {}}
        for container in pod["spec"].get("containers") or []
    ]
    spec = {"containers": containers, "activeDeadlineSeconds": pod["spec"].get("activeDeadlineSeconds")}
    return {"metadata": metadata, "spec": spec, "status": pod.get("status") or {}}


def holding(obj: Json, kind: str) -> Json | None:
    """Return an object's condition of a kind where it holds.

    >>> holding({"status": {"conditions": [{"type": "Failed", "status": "True"}]}}, "Failed")
    {'type': 'Failed', 'status': 'True'}
    """
    for condition in (obj.get("status") or {}).get("conditions") or []:
        if condition["type"] == kind and condition["status"] == "True":
            found: Json = condition
            return found
    return None


def index_of(pod: Json) -> int | None:
    """Return a pod's completion index; `None` where its Job has none."""
    text = (pod["metadata"].get("annotations") or {}).get(_INDEX, "")
    return int(text) if text.isdigit() else None


def container_statuses(pod: Json) -> Iterator[Json]:
    """Yield the status of each container, in the order in which they start."""
    status = pod.get("status") or {}
    yield from status.get("initContainerStatuses") or []
    yield from status.get("containerStatuses") or []


def worker_status(pod: Json) -> Json:
    """Return the state of the worker's container: `waiting`, `running` or `terminated`; empty where there is none."""
    for status in (pod.get("status") or {}).get("containerStatuses") or []:
        if status["name"] == WORKER:
            state: Json = status.get("state") or {}
            return state
    return {}


def phase(pod: Json) -> str:
    """Return a pod's phase."""
    return str((pod.get("status") or {}).get("phase", "Pending"))


def holds_index(ranges: str, index: int) -> bool:
    """Tell whether an index is among ranges as a Job's status writes them.

    >>> holds_index("1,3-5,7", 4), holds_index("1,3-5,7", 6), holds_index("", 0)
    (True, False, False)
    """
    return index in _indexes(ranges)


@lru_cache(maxsize=16)
def _indexes(ranges: str) -> frozenset[int]:
    """Return the indexes among ranges; every job of an array asks for the same."""
    return frozenset(numbers_of(ranges) if ranges else ())


def _order(pod: Json) -> tuple[object, ...]:
    """Return what pods are sorted by; of one second, those that were taken away come before those that followed."""
    metadata = pod["metadata"]
    followed = holding(pod, "DisruptionTarget") is None
    return moment(metadata.get("creationTimestamp")), followed, str(metadata["name"])
