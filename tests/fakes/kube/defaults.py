"""What the server fills in where a body says nothing."""

import base64
from typing import Final

from tests.fakes.kube.objects import Obj, new_uid

UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
NAME_LABEL: Final = "batch.kubernetes.io/job-name"
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"
UNLIMITED: Final = 2**31 - 1
_EVICTED_AFTER: Final = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]


def job_defaults(job: Obj) -> None:
    """Fill in a Job; its uid must stand."""
    given = job["spec"]
    indexed = given.get("completionMode") == "Indexed"
    by_index = given.get("backoffLimitPerIndex") is not None
    parallelism = given.get("parallelism")
    completions = given.get("completions")
    if parallelism is None and completions is None:
        completions = 1
    spec: Obj = {"parallelism": 1 if parallelism is None else parallelism}
    if completions is not None:
        spec["completions"] = completions
    for name in ("activeDeadlineSeconds", "podFailurePolicy", "successPolicy"):
        if name in given:
            spec[name] = given[name]
    spec["backoffLimit"] = given.get("backoffLimit", UNLIMITED if by_index else 6)
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if name in given:
            spec[name] = given[name]
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or []:
        for pattern in rule.get("onPodConditions") or []:
            pattern.setdefault("status", "True")
    labels = _own_labels(job)
    if not given.get("manualSelector"):
        spec["selector"] = {"matchLabels": {UID_LABEL: job["metadata"]["uid"]}}
        spec["manualSelector"] = False
    template = given.get("template") or {}
    metadata = template.get("metadata") or {}
    spec["template"] = {
        **template,
        "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}},
    }
    pod_spec_defaults(spec["template"].setdefault("spec", {}))
    replacement = "Failed" if "podFailurePolicy" in given else "TerminatingOrFailed"
    ends = {
        "completionMode": "Indexed" if indexed else "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": replacement,
    }
    job["spec"] = {
        **spec,
        **{k: v for k, v in given.items() if k not in spec},
        **{name: given.get(name, value) for name, value in ends.items()},
    }
    job["status"] = {}


def _own_labels(job: Obj) -> dict[str, str]:
    uid, name = job["metadata"]["uid"], job["metadata"]["name"]
    return {UID_LABEL: uid, NAME_LABEL: name, "controller-uid": uid, "job-name": name}


def pod_spec_defaults(spec: Obj) -> None:
    """Fill in a pod's spec, as part of a template or alone."""
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        _container_defaults(container)
    for volume in spec.get("volumes") or []:
        for kind in ("configMap", "secret", "projected", "downwardAPI"):
            if kind in volume:
                volume[kind].setdefault("defaultMode", 0o644)
        if "hostPath" in volume:
            volume["hostPath"].setdefault("type", "")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")


def _container_defaults(container: Obj) -> None:
    resources = container.setdefault("resources", {})
    for name, value in (resources.get("limits") or {}).items():
        resources.setdefault("requests", {}).setdefault(name, value)
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    image = container.get("image", "")
    latest = image.endswith(":latest") or ":" not in image.rpartition("/")[2]
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or []:
        field = (variable.get("valueFrom") or {}).get("fieldRef")
        if field:
            field.setdefault("apiVersion", "v1")


def pod_defaults(pod: Obj) -> None:
    """Fill in a pod that is created, as admission does too."""
    spec = pod["spec"]
    pod_spec_defaults(spec)
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    tolerated = {each.get("key") for each in spec.get("tolerations") or []}
    missing = [each for each in _EVICTED_AFTER if each["key"] not in tolerated]
    spec["tolerations"] = [*(spec.get("tolerations") or []), *missing]
    spec.setdefault("priority", 0)
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    pod["status"] = {"phase": "Pending", "qosClass": quality(spec)}


def quality(spec: Obj) -> str:
    """Return the pod's quality-of-service class."""
    containers = spec.get("containers") or []
    asked = [each.get("resources") or {} for each in containers]
    if not any(each.get("requests") or each.get("limits") for each in asked):
        return "BestEffort"
    wanted = {"cpu", "memory"}
    sure = all(
        wanted <= set(each.get("limits") or {})
        and all((each.get("requests") or {}).get(name) == each["limits"][name] for name in wanted)
        for each in asked
    )
    return "Guaranteed" if sure else "Burstable"


def secret_defaults(secret: Obj) -> None:
    """Fill in a Secret: text becomes base64, the type is Opaque."""
    for name, text in (secret.pop("stringData", None) or {}).items():
        secret.setdefault("data", {})[name] = base64.b64encode(text.encode()).decode()
    secret.setdefault("type", "Opaque")


def namespace_defaults(namespace: Obj) -> None:
    """Fill in a namespace."""
    namespace["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = namespace["metadata"]["name"]
    namespace["spec"] = {"finalizers": ["kubernetes"]}
    namespace["status"] = {"phase": "Active"}


def node_defaults(node: Obj) -> None:
    """Fill in a node, as its kubelet would: ready, and allocatable what its capacity is."""
    name = node["metadata"]["name"]
    labels = node["metadata"].setdefault("labels", {})
    for key, value in {"arch": "amd64", "hostname": name, "os": "linux"}.items():
        labels.setdefault(f"kubernetes.io/{key}", value)
    node.setdefault("spec", {})
    status = node.setdefault("status", {})
    capacity = status.setdefault("capacity", {})
    for key, value in {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "256Gi", "pods": "110"}.items():
        capacity.setdefault(key, value)
    status.setdefault("allocatable", dict(capacity))
    status.setdefault("addresses", [{"type": "InternalIP", "address": "127.0.0.1"}])
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    status.setdefault("conditions", [ready])


DEFAULTS: Final = {
    "jobs.batch": job_defaults,
    "namespaces": namespace_defaults,
    "nodes": node_defaults,
    "pods": pod_defaults,
    "secrets": secret_defaults,
}


def fill_in(resource: str, obj: Obj) -> None:
    """Give a new object, named already, its identity and its defaults."""
    obj["metadata"].setdefault("uid", new_uid())
    fill = DEFAULTS.get(resource)
    if fill is not None:
        fill(obj)
