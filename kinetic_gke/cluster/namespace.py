"""One namespace: its jobs as they stand, from one watch of Jobs and one of pods for all who ask in this process."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import attrs

from kinetic_core.plugin import Logger
from kinetic_gke.cluster.arrays import Place
from kinetic_gke.cluster.client import Apis, Client, Json
from kinetic_gke.cluster.news import News
from kinetic_gke.cluster.patience import LONGEST_S
from kinetic_gke.cluster.podbook import JOB_NAME, PodBook, job_of
from kinetic_gke.cluster.refusal import ClusterError
from kinetic_gke.cluster.watching import Watch
from kinetic_gke.diagnosis.ending import needs_takings
from kinetic_gke.diagnosis.look import Look, essence_of_job, essence_of_pod, holding, holds_index, look_at, phase
from kinetic_gke.manifest.names import APP, APP_VALUE, selector

_OURS: Final = selector({APP: APP_VALUE})
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_FEW_ATTEMPTS: Final = 2
_INTEREST_S: Final = 60.0
"""How long after somebody last asked the watches go on."""


class Waiter:
    """Somebody who waits for a change of one job."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._changed = threading.Event()

    def tell(self) -> None:
        """Let the wait end."""
        self._changed.set()

    def wait(self, timeout_s: float) -> None:
        """Wait until something changed since the last wait, or the time is up."""
        self._changed.wait(timeout_s)
        self._changed.clear()


class Namespace:
    """The jobs of one namespace. A first question is asked of the server; who asks again is answered from a watch."""

    def __init__(self, client: Client, name: str, log: Logger) -> None:
        """Watch nothing yet.

        Args:
            client: Of the cluster.
            name: Of the namespace.
            log: For the watches, and of a cluster that does not answer.
        """
        self.client = client
        self.name = name
        self.news = News(client, name, log)
        self._log = log
        self._lock = threading.Lock()
        self._is_told = False
        self._asked_s: float | None = None
        self._waiters: defaultdict[str, set[Waiter]] = defaultdict(set)
        self._book = PodBook()
        self._expected: dict[str, list[Callable[[Json | None], bool]]] = {}
        self._takings: dict[str, list[Json]] = {}
        self._cleaned: dict[str, set[int | None]] = {}
        self._jobs_watch = Watch(
            client,
            self._list_jobs,
            what=f"jobs of {name!r}",
            kept=essence_of_job,
            changed=self._job_changed,
            wanted=self._wanted,
            log=log,
        )
        self._pods_watch = Watch(
            client,
            self._list_pods,
            what=f"pods of {name!r}",
            kept=essence_of_pod,
            changed=self._pod_changed,
            wanted=self._wanted,
            log=log,
        )

    def look(self, name: str, index: int | None = None) -> Look | None:
        """Return how a Job stands with its pods; `None` where there is none of that name.

        Args:
            name: Of the Job.
            index: Of the job in its array.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        now_s = time.monotonic()
        with self._lock:
            again = self._asked_s is not None and now_s - self._asked_s < _INTEREST_S
            self._asked_s = now_s
        if not again and not self._jobs_watch.runs:
            return self.look_now(name, index)
        return self.look_watched(name, index)

    def look_watched(self, name: str, index: int | None = None) -> Look | None:
        """Do the same from the watches; they are started where they do not run."""
        self._start()
        job = self._jobs_watch.get(name)
        if job is None or not self._is_up_to_date(name, job):
            # What was made or changed here a moment ago may not have come through the watch.
            return self.look_now(name, index)
        pods = self._book.of(name, index)
        if _is_ahead(job, pods, index):
            # The two watches are not in step, and the end of a job is told by its pods.
            pods = self._book.completed(name, index, self._read_pods(name, index))
        return self._explained(name, look_at(job, pods, index))

    def look_now(self, name: str, index: int | None = None) -> Look | None:
        """Do the same by asking the server."""
        job = self.client.found(
            f"show the Job {name!r}",
            lambda apis, options: apis.batch.read_namespaced_job(name, self.name, **options),
        )
        if job is None:
            return None
        pods = self._book.completed(name, index, self._read_pods(name, index))
        return self._explained(name, look_at(job, pods, index))

    def _explained(self, name: str, look: Look) -> Look:
        """Add what the cluster's events know of pods that nobody here has seen; that is asked for once."""
        if not needs_takings(look):
            return look
        takings = self._takings.get(name)
        if takings is None:
            takings = self.news.takings(name)
        if takings is not None:
            self._takings[name] = takings
        return attrs.evolve(look, takings=takings or [])

    def expect(self, name: str, seen: Callable[[Json | None], bool]) -> None:
        """Take note of a change that is made from here: until the watch shows it, the server is asked.

        Args:
            name: Of the Job.
            seen: Tells whether a Job, or that there is none, shows the change.
        """
        if self._jobs_watch.runs:
            with self._lock:
                self._expected.setdefault(name, []).append(seen)

    def _is_up_to_date(self, name: str, job: Json) -> bool:
        with self._lock:
            left = [seen for seen in self._expected.pop(name, ()) if not seen(job)]
            if left:
                self._expected[name] = left
        return not left

    def clean(self, place: Place) -> int:
        """Take note that a job of an array is not to be found any more; return of how many of it that is so."""
        with self._lock:
            self._cleaned.setdefault(place.name, set()).add(place.index)
            return len(self._cleaned[place.name])

    def is_cleaned(self, place: Place) -> bool:
        """Tell whether a job of an array was removed from here."""
        return place.index in self._cleaned.get(place.name, ())

    @contextmanager
    def waiting(self, name: str) -> Iterator[Waiter]:
        """Lend somebody who is told of each change of a Job and its pods."""
        waiter = Waiter()
        with self._lock:
            self._waiters[name].add(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._waiters[name].discard(waiter)
                if not self._waiters[name]:
                    del self._waiters[name]
                self._asked_s = time.monotonic()

    def check(self) -> None:
        """Raise what keeps the watches from telling the truth.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        self._jobs_watch.check()
        self._pods_watch.check()

    def tell_silent(self, error: ClusterError) -> None:
        """Tell the user that the cluster does not answer; once, however many wait."""
        with self._lock:
            if self._is_told:
                return
            self._is_told = True
        self._log.warning(
            "cluster_silent",
            message=f"nothing is heard of the jobs in {self.name!r}, which go on: {error}",
            remedy=f"they are waited for all the same, {LONGEST_S / 60:.0f} minutes without an answer at most",
        )

    def jobs(self) -> list[Json]:
        """Return the Jobs of this project, as the server tells."""
        # Asked of every backend that there is: whoever has no cluster shall not wait long to learn it.
        answer = self.client.sure(f"list the jobs of {self.name!r}", self._list_jobs, attempts=_FEW_ATTEMPTS)
        return list(answer.get("items") or [])

    def close(self) -> None:
        """End the watches."""
        self._jobs_watch.close()
        self._pods_watch.close()

    def _start(self) -> None:
        # Pods first: what a Job's end says of its pods is then known.
        self._pods_watch.start()
        self._jobs_watch.start()
        self._is_told = False

    def _wanted(self) -> bool:
        with self._lock:
            recently = self._asked_s is not None and time.monotonic() - self._asked_s < _INTEREST_S
            return bool(self._waiters) or recently

    def _list_jobs(self, apis: Apis, options: Mapping[str, Any]) -> Any:
        return apis.batch.list_namespaced_job(self.name, label_selector=_OURS, **options)

    def _list_pods(self, apis: Apis, options: Mapping[str, Any]) -> Any:
        return apis.core.list_namespaced_pod(self.name, label_selector=_OURS, **options)

    def _read_pods(self, job: str, index: int | None = None) -> list[Json]:
        wanted = {JOB_NAME: job} | ({} if index is None else {_INDEX: str(index)})
        answer = self.client.sure(
            f"list the pods of {self.name!r}",
            lambda apis, options: apis.core.list_namespaced_pod(self.name, label_selector=selector(wanted), **options),
        )
        return list(answer.get("items") or [])

    def _job_changed(self, job: Json) -> None:
        name = str(job["metadata"]["name"])
        if self._jobs_watch.get(name) is None:
            with self._lock:
                self._expected.pop(name, None)
                self._takings.pop(name, None)
            self._book.forget(name)
        self._tell(name)

    def _pod_changed(self, pod: Json) -> None:
        if self._pods_watch.get(str(pod["metadata"]["name"])) is not None:
            self._book.keep(pod)
        else:
            self._book.depart(pod)
        self._tell(job_of(pod))

    def _tell(self, job: str) -> None:
        with self._lock:
            waiters = list(self._waiters.get(job, ()))
        for waiter in waiters:
            waiter.tell()


def _is_ahead(job: Json, pods: Sequence[Json], index: int | None) -> bool:
    """Tell whether a Job has counted pods whose end is not known yet."""
    status = job.get("status") or {}
    ended = sum(phase(pod) in {"Succeeded", "Failed"} for pod in pods)
    if index is not None:
        return not ended and holds_index(status.get("failedIndexes") or "", index)
    is_over = holding(job, "Failed") is not None or holding(job, "Complete") is not None
    return is_over and ended < int(status.get("succeeded") or 0) + int(status.get("failed") or 0)
