"""The kubelet: runs the pods of every node as processes on this machine."""

import functools
import threading
from collections.abc import Callable
from pathlib import Path

from tests.fakes.kube.deletion import stop_pod
from tests.fakes.kube.events import Recorder
from tests.fakes.kube.images import Images
from tests.fakes.kube.objects import Obj, is_deleted, now, set_condition
from tests.fakes.kube.pace import Pace
from tests.fakes.kube.pod_faults import PodFaults
from tests.fakes.kube.pod_worker import DISRUPTION, PodWorker
from tests.fakes.kube.store import Change, Key, Store

EVICTED = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 42Mi. "
SHUTDOWN = "Pod was terminated in response to imminent node shutdown."
DEADLINE = "Pod was active on the node longer than the specified deadline"
PREEMPTED = "default-scheduler: preempting to accommodate a higher priority pod"


class Kubelet:
    """Starts a worker for each pod that has a node, and tells it when the pod has to go."""

    def __init__(
        self, *, store: Store, recorder: Recorder, pace: Pace, faults: PodFaults, root: Path, rotate_every: int
    ) -> None:
        self.store = store
        self.recorder = recorder
        self.pace = pace
        self.faults = faults
        self.root = root / "pods"
        self.buckets = root / "buckets"
        self.images = Images()
        self.rotate_every = rotate_every
        self.is_stopped = False
        self.settle: Callable[[int], None] = lambda _: None
        self._workers: dict[str, PodWorker] = {}
        self._timers: list[threading.Timer] = []
        self._lock = threading.Lock()

    def observe(self, change: Change) -> None:
        """Take note of one step of the history."""
        if change.key.resource != "pods":
            return
        pod, uid = change.object, change.object["metadata"]["uid"]
        with self._lock:
            worker = self._workers.get(uid)
            if change.happening == "DELETED":
                self._workers.pop(uid, None)
            elif worker is None and pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
                worker = self._workers[uid] = PodWorker(self, change.key, pod)
                worker.thread.start()
        if worker is None:
            return
        if change.happening == "DELETED":
            worker.silence()
        elif is_deleted(pod):
            worker.pod = pod
            worker.deleted.set()
            worker.changed.set()

    def worker(self, pod: Obj) -> PodWorker | None:
        """Return the pod's worker."""
        with self._lock:
            return self._workers.get(pod["metadata"]["uid"])

    def write(self, key: Key, uid: str, write: Callable[[Obj], None]) -> Obj | None:
        """Write a pod's status, and let every controller act on it before going on."""

        def checked(pod: Obj) -> None:
            if pod["metadata"]["uid"] == uid:
                write(pod)

        kept = self.store.update(key, checked)
        if kept is not None and not self.is_stopped:
            self.settle(int(kept["metadata"]["resourceVersion"]))
        return kept

    def remove_pod(self, key: Key) -> None:
        """Say that nothing of the pod is left."""
        stop_pod(self.store, key, 0)

    def arm(self, worker: PodWorker) -> None:
        """Set what shall happen to a pod that runs now."""
        fault = self.faults.of(worker.pod, "oom")
        if fault is not None:
            self._later(fault.get("after_s", 0.05), lambda: worker.kill("OOMKilled"))

    def limit(self, worker: PodWorker) -> None:
        """Hold a pod to its own deadline, which counts from its first status on the node."""
        seconds = worker.pod["spec"].get("activeDeadlineSeconds")
        if seconds is not None:
            grace_s = worker.pod["spec"]["terminationGracePeriodSeconds"]
            end = functools.partial(worker.end_because, "DeadlineExceeded", DEADLINE, grace_s=grace_s)
            self._later(seconds * self.pace.second_s, end)

    def _later(self, delay_s: float, action: Callable[[], None]) -> None:
        timer = threading.Timer(delay_s, action)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def disrupt(self, key: Key, how: str) -> None:
        """Let something outside of the pod end it: `oom`, `evict`, `shutdown`, `preempt`.

        Raises:
            KeyError: There is no such pod, or it does not run.
        """
        pod = self.store.get(key)
        worker = self.worker(pod) if pod else None
        if pod is None or worker is None:
            raise KeyError(key.name)
        match how:
            case "oom":
                worker.kill("OOMKilled")
            case "evict":
                self._disrupted(key, "TerminationByKubelet", EVICTED)
                self.recorder.tell(pod, "Evicted", EVICTED, component="kubelet", warning=True)
                worker.end_because("Evicted", EVICTED)
            case "shutdown":
                self._disrupted(key, "TerminationByKubelet", SHUTDOWN)
                worker.end_because("Terminated", SHUTDOWN)
            case "preempt":
                self._disrupted(key, "PreemptionByScheduler", PREEMPTED)
                told = f"Preempted by pod {worker.uid} on node {pod['spec']['nodeName']}"
                self.recorder.tell(pod, "Preempted", told, component="default-scheduler")
                stop_pod(self.store, key)
            case other:
                raise KeyError(other)

    def _disrupted(self, key: Key, reason: str, message: str) -> None:
        condition = {
            "type": DISRUPTION,
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now(),
            "reason": reason,
            "message": message,
        }
        self.store.update(key, lambda pod: set_condition(pod, condition))

    def lose_node(self, name: str) -> None:
        """Lose a node: nothing is heard of it, its pods are deleted by taint, then by the pods' collector."""

        def lose(node: Obj) -> None:
            told = "Kubelet stopped posting node status."
            ready = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": told}
            set_condition(node, ready)
            node["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]

        self.store.update(Key("nodes", "", name), lose)
        for key, pod in self.store.items("pods")[0]:
            if pod["spec"].get("nodeName") != name or pod["status"].get("phase") in {"Succeeded", "Failed"}:
                continue
            worker = self.worker(pod)
            if worker is not None:
                worker.silence()
            told = "Taint manager: deleting due to NoExecute taint"
            self._disrupted(key, "DeletionByTaintManager", told)
            stop_pod(self.store, key)
            self._disrupted(key, "DeletionByPodGC", "PodGC: node no longer exists")
            self.store.update(key, _fail)
            self.remove_pod(key)

    def restore_node(self, name: str) -> None:
        """Hear of the node again."""

        def restore(node: Obj) -> None:
            told = "kubelet is posting ready status"
            set_condition(node, {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": told})
            node["spec"].pop("taints", None)

        self.store.update(Key("nodes", "", name), restore)

    def stop(self) -> None:
        """Kill what runs, and wait until it is gone."""
        self.is_stopped = True
        with self._lock:
            workers = list(self._workers.values())
        for timer in self._timers:
            timer.cancel()
        for worker in workers:
            worker.silence()
        for worker in workers:
            worker.thread.join(10)


def _fail(pod: Obj) -> None:
    pod["status"]["phase"] = "Failed"
