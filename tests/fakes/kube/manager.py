"""The control plane: one thread in which every controller sees every change, in order."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable

import attrs

from tests.fakes.kube.deletion import GarbageCollector
from tests.fakes.kube.events import Recorder
from tests.fakes.kube.job_controller import JobController
from tests.fakes.kube.job_set import JobSetController
from tests.fakes.kube.kubelet import Kubelet
from tests.fakes.kube.leader_worker import LeaderWorkerController
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.pace import Pace
from tests.fakes.kube.pod_faults import PodFaults
from tests.fakes.kube.resources import Catalog
from tests.fakes.kube.scheduler import Scheduler
from tests.fakes.kube.store import FIRST_REVISION, Change, Store


@attrs.frozen(kw_only=True)
class Components:
    """What the parts of the control plane share."""

    store: Store
    catalog: Catalog
    recorder: Recorder
    pace: Pace
    pod_faults: PodFaults
    admit_pod: Callable[[Obj], None]


class Manager:
    """Feeds the controllers, and keeps their appointments."""

    def __init__(self, components: Components, kubelet: Kubelet) -> None:
        self._store = components.store
        self._catalog = components.catalog
        self._appointments: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._jobs = JobController(components, self.later)
        self._groups = (LeaderWorkerController(components), JobSetController(components))
        self._scheduler = Scheduler(components)
        self._garbage = GarbageCollector(components.store, lambda action: self.later(components.pace.collect_s, action))
        self._kubelet = kubelet
        self._seen = FIRST_REVISION
        self._settled = threading.Condition()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="control plane", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Work no more."""
        self._ended.set()
        self._thread.join(10)

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do something after a while, in the control plane's thread."""
        with self._lock:
            heapq.heappush(self._appointments, (time.monotonic() + delay_s, next(self._numbers), action))

    def wait_settled(self, revision: int) -> None:
        """Wait until every controller has acted on the revision, so that none skips a state of a pod."""
        with self._settled:
            self._settled.wait_for(lambda: self._seen >= revision or self._ended.is_set(), 10)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._step()

    def _step(self) -> None:
        changes = self._store.changes(self._seen, self._patience(), of_old=True)
        for change in changes:
            self._scheduler.observe(change)
            self._jobs.observe(change)
            self._jobs.work()
            for group in self._groups:
                group.observe(change)
                group.work()
            self._garbage.observe(change)
            self._kubelet.observe(change)
            self._define(change)
        self._scheduler.work()
        for action in self._due():
            action()
        self._jobs.work()
        if changes:
            with self._settled:
                self._seen = changes[-1].revision
                self._settled.notify_all()

    def _patience(self) -> float:
        with self._lock:
            first = self._appointments[0][0] if self._appointments else time.monotonic() + 1
        return min(max(first - time.monotonic(), 0), 0.1)

    def _due(self) -> list[Callable[[], None]]:
        due = []
        with self._lock:
            while self._appointments and self._appointments[0][0] <= time.monotonic():
                due.append(heapq.heappop(self._appointments)[2])
        return due

    def _define(self, change: Change) -> None:
        if change.key.resource == "customresourcedefinitions.apiextensions.k8s.io" and change.happening == "DELETED":
            self._catalog.withdraw(change.object)
