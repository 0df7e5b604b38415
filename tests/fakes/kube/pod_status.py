"""A pod's status as its kubelet writes it."""

from collections.abc import Callable, Sequence
from typing import Final

from tests.fakes.kube.container import Container
from tests.fakes.kube.objects import Obj, now

IMAGE_ID: Final = "sha256:38f9e669c4d6e772ef52b266386fe3b49ef82372b0f5ee0932b16927f0005dd2"
NODE_ADDRESS: Final = "127.0.0.1"
ORDER: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def container_status(
    spec: Obj,
    container: Container | None,
    *,
    waiting: Obj | None = None,
    restarts: int = 0,
    last: Obj | None = None,
    as_running: bool = False,
) -> Obj:
    """Return the entry of one container."""
    status: Obj = {
        "name": spec["name"],
        "state": {"waiting": waiting or {"reason": "ContainerCreating"}},
        "lastState": {"terminated": last} if last else {},
        "ready": False,
        "restartCount": restarts,
        "image": spec.get("image", ""),
        "imageID": "",
        "started": False,
    }
    if container is None or waiting is not None:
        return status
    runs = container.ended is None or as_running
    state = {"running": {"startedAt": container.started_at}} if runs else {"terminated": container.ended}
    known = {"imageID": IMAGE_ID, "containerID": container.id, "started": runs, "resources": spec.get("resources", {})}
    return {**status, "state": state, "ready": runs, **known}


class StatusWriter:
    """Puts what the kubelet knows of a pod into its status."""

    def __init__(self, initial: Sequence[str]) -> None:
        self._initial = list(initial)

    def writer(
        self,
        *,
        phase: str,
        statuses: list[Obj],
        init_statuses: list[Obj],
        ready_to_start: bool,
        initialized: bool,
        reason: str | None = None,
        message: str | None = None,
    ) -> Callable[[Obj], None]:
        """Return the change of the pod."""

        def write(pod: Obj) -> None:
            generation = pod["metadata"].get("generation", 1)
            old = pod["status"]
            conditions = self._conditions(phase, statuses, ready_to_start=ready_to_start, initialized=initialized)
            kept = [each for each in old.get("conditions") or [] if each["type"] not in conditions]
            made = [_condition(kind, conditions[kind], old, generation) for kind in ORDER if kind in conditions]
            made += [{**each, "observedGeneration": generation} for each in kept]
            status: Obj = {"observedGeneration": generation, "phase": phase, "conditions": made}
            status |= {"hostIP": NODE_ADDRESS, "hostIPs": [{"ip": NODE_ADDRESS}]}
            if phase != "Pending" or old.get("podIP"):
                status |= {"podIP": NODE_ADDRESS, "podIPs": [{"ip": NODE_ADDRESS}]}
            status["startTime"] = old.get("startTime") or now()
            if init_statuses:
                status["initContainerStatuses"] = init_statuses
            status |= {"containerStatuses": statuses, "qosClass": old.get("qosClass", "BestEffort"), "resources": {}}
            status |= {name: value for name, value in (("reason", reason), ("message", message)) if value}
            pod["status"] = status

        return write

    def _conditions(
        self, phase: str, statuses: list[Obj], *, ready_to_start: bool, initialized: bool
    ) -> dict[str, Obj]:
        ended = [each["state"]["terminated"] for each in statuses if "terminated" in each["state"]]
        all_over = len(ended) == len(statuses) or phase in {"Succeeded", "Failed"}
        good = phase == "Succeeded" or (all_over and phase != "Failed" and all(e["exitCode"] == 0 for e in ended))
        unready = [each["name"] for each in statuses if not each["ready"]]
        why: Obj = {}
        if all_over:
            why = {"reason": "PodCompleted" if good else "PodFailed"}
        elif unready:
            why = {"reason": "ContainersNotReady", "message": f"containers with unready status: [{' '.join(unready)}]"}
        ready: Obj = {"status": "False", **why} if why else {"status": "True"}
        begun: Obj = {"status": "True", **({"reason": "PodCompleted"} if all_over and good else {})}
        if not initialized:
            names = " ".join(self._initial)
            told = {"reason": "ContainersNotInitialized", "message": f"containers with incomplete status: [{names}]"}
            begun = {"status": "False", **told}
        return {
            "PodReadyToStartContainers": {"status": "True" if ready_to_start else "False"},
            "Initialized": begun,
            "Ready": ready,
            "ContainersReady": ready,
        }


def _condition(kind: str, new: Obj, old: Obj, generation: int) -> Obj:
    known = next((each for each in old.get("conditions") or [] if each["type"] == kind), None)
    same = known is not None and known["status"] == new["status"]
    since = known["lastTransitionTime"] if known is not None and same else now()
    fixed: Obj = {"type": kind, "observedGeneration": generation, "status": new["status"], "lastProbeTime": None}
    told: Obj = {name: new[name] for name in ("reason", "message") if name in new}
    return {**fixed, "lastTransitionTime": since, **told}
