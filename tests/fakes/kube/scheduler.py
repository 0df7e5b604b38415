"""The scheduler: gives pods a node that has what they ask for, and says what is missing where none has."""

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from tests.fakes.kube.objects import Obj, holds, labels_of, name_of, now, set_condition
from tests.fakes.kube.quantities import amount
from tests.fakes.kube.store import Change, Key

if TYPE_CHECKING:
    from tests.fakes.kube.manager import Components

COMPONENT: Final = "default-scheduler"
Usage: TypeAlias = dict[str, Decimal]


class Scheduler:
    """Follows pods and nodes; what fits nowhere is tried again when either changes."""

    def __init__(self, components: "Components") -> None:
        self._store = components.store
        self._tell = components.recorder.tell
        self._faults = components.pod_faults
        self._pending: dict[Key, None] = {}
        self._used: dict[Key, tuple[str, Usage]] = {}
        self._again = False

    def observe(self, change: Change) -> None:
        """Take note of one step of the history."""
        if change.key.resource == "nodes":
            self._again = True
        if change.key.resource != "pods":
            return
        pod = change.object
        node = pod["spec"].get("nodeName")
        if change.happening == "DELETED" or pod["status"].get("phase") in {"Succeeded", "Failed"}:
            self._pending.pop(change.key, None)
            self._again = self._used.pop(change.key, None) is not None or self._again
        elif node:
            self._pending.pop(change.key, None)
            self._used.setdefault(change.key, (node, demand(pod)))
        elif change.happening == "ADDED":
            self._pending[change.key] = None
            self._place(change.key)

    def work(self) -> None:
        """Try again what fitted nowhere."""
        if self._again or self._faults.changed():
            self._again = False
            for key in list(self._pending):
                self._place(key)

    def _place(self, key: Key) -> None:
        pod = self._store.get(key)
        if pod is None or pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates"):
            return
        fault = self._faults.of(pod, "unschedulable")
        reasons: Counter[str] = Counter()
        nodes = [] if fault else self._store.objects("nodes")
        for node in nodes:
            why = self._unfit(pod, node)
            if not why:
                self._bind(key, pod, name_of(node))
                return
            reasons[why] += 1
        told = fault["message"] if fault else unfit_message(len(nodes), reasons)
        self._refuse(key, pod, told)

    def _unfit(self, pod: Obj, node: Obj) -> str:
        spec, labels = pod["spec"], labels_of(node)
        if node["spec"].get("unschedulable"):
            return "node(s) were unschedulable"
        for taint in node["spec"].get("taints") or []:
            if taint["effect"] != "PreferNoSchedule" and not tolerates(spec.get("tolerations") or [], taint):
                shown = f"{taint['key']}: {taint['value']}" if taint.get("value") else f"{taint['key']}: "
                return f"node(s) had untolerated taint {{{shown}}}"
        if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
            return "node(s) didn't match Pod's node affinity/selector"
        if not holds(node, "Ready"):
            return "node(s) were not ready"
        allocatable = node["status"].get("allocatable") or {}
        taken = [usage for name, usage in self._used.values() if name == name_of(node)]
        for what, asked in demand(pod).items():
            used = sum((usage.get(what, Decimal()) for usage in taken), Decimal())
            if used + asked > amount(str(allocatable.get(what, "0"))):
                return "Too many pods" if what == "pods" else f"Insufficient {what}"
        return ""

    def _bind(self, key: Key, pod: Obj, node: str) -> None:
        def bind(obj: Obj) -> None:
            obj["spec"]["nodeName"] = node
            # Recorded: the binding leaves the generation alone, and the condition without one.
            set_condition(obj, _scheduled("True"))

        self._pending.pop(key, None)
        self._used[key] = (node, demand(pod))
        self._store.update(key, bind)
        message = f"Successfully assigned {key.namespace}/{key.name} to {node}"
        self._tell(pod, "Scheduled", message, component=COMPONENT)

    def _refuse(self, key: Key, pod: Obj, message: str) -> None:
        known = next((each for each in pod["status"].get("conditions") or [] if each["type"] == "PodScheduled"), None)
        if known is None or known.get("message") != message:
            condition = {**_scheduled("False"), "reason": "Unschedulable", "message": message}
            self._store.update(key, lambda obj: set_condition(obj, condition))
        self._tell(pod, "FailedScheduling", message, component=COMPONENT, warning=True)


def _scheduled(status: str) -> Obj:
    return {"type": "PodScheduled", "status": status, "lastProbeTime": None, "lastTransitionTime": now()}


def demand(pod: Obj) -> Usage:
    """Return what the pod asks of a node."""
    asked: Usage = {"pods": Decimal(1)}
    for container in pod["spec"]["containers"]:
        for what, text in (container["resources"].get("requests") or {}).items():
            asked[what] = asked.get(what, Decimal()) + amount(text)
    for container in pod["spec"].get("initContainers") or []:
        for what, text in (container["resources"].get("requests") or {}).items():
            asked[what] = max(asked.get(what, Decimal()), amount(text))
    return asked


def tolerates(tolerations: list[Obj], taint: Obj) -> bool:
    """Tell whether one of the tolerations covers the taint."""
    return any(
        each.get("effect") in {None, "", taint["effect"]}
        and each.get("key") in {None, "", taint["key"]}
        and (each.get("operator") == "Exists" or (each.get("key") and each.get("value", "") == taint.get("value", "")))
        for each in tolerations
    )


def unfit_message(nodes: int, reasons: Counter[str]) -> str:
    """Return how the scheduler says that no node will do."""
    if not nodes:
        return "no nodes available to schedule pods"
    listed = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
    helpless = f"preemption: 0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling."
    return f"0/{nodes} nodes are available: {listed}. {helpless}"
