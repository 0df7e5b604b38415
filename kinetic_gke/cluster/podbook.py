"""Pods by the jobs that they are of, those that were seen and are gone too."""

import threading
from typing import Final

from kinetic_gke.cluster.client import Json
from kinetic_gke.diagnosis.ending import departed
from kinetic_gke.diagnosis.look import index_of

JOB_NAME: Final = "batch.kubernetes.io/job-name"
_Pods = dict[str, Json]


class PodBook:
    """Knows the pods of each Job, and of each index of an array, without a search."""

    def __init__(self) -> None:
        """Know none."""
        self._lock = threading.Lock()
        self._jobs: dict[str, dict[int | None, _Pods]] = {}

    def keep(self, pod: Json) -> None:
        """Take a pod as it is now."""
        with self._lock:
            self._put(pod)

    def depart(self, pod: Json) -> None:
        """Keep the last state of a pod that is gone: a preempted one says why only as long as it is there."""
        with self._lock:
            if job_of(pod) in self._jobs:
                self._put(departed(pod))

    def forget(self, job: str) -> None:
        """Forget the pods of a Job that is gone."""
        with self._lock:
            self._jobs.pop(job, None)

    def of(self, job: str, index: int | None) -> list[Json]:
        """Return the pods of a Job, or of one index of it."""
        with self._lock:
            return list(self._jobs.get(job, {}).get(index, {}).values())

    def completed(self, job: str, index: int | None, present: list[Json]) -> list[Json]:
        """Return the pods that are there by a fresh answer, and those that only this book knows of."""
        there = {pod["metadata"]["name"] for pod in present}
        return present + [departed(pod) for pod in self.of(job, index) if pod["metadata"]["name"] not in there]

    def _put(self, pod: Json) -> None:
        pods = self._jobs.setdefault(job_of(pod), {})
        for index in {None, index_of(pod)}:
            pods.setdefault(index, {})[str(pod["metadata"]["name"])] = pod


def job_of(pod: Json) -> str:
    """Return the name of the Job that a pod is of."""
    return str((pod["metadata"].get("labels") or {}).get(JOB_NAME, ""))
