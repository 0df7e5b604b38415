"""The pods of a Job: how they are named and made, and what they tell of their end."""

import copy
from typing import Any

from tests.fakes.kube.defaults import INDEX_LABEL, JOB_TRACKING, pod_defaults
from tests.fakes.kube.objects import Obj, holds, is_deleted, labels_of, name_of, suffix

FAILURES = "batch.kubernetes.io/job-index-failure-count"


def pod_of(job: Obj, index: int | None, failures: int) -> Obj:
    """Return a new pod of the Job, for one index where the Job has indexes."""
    template = job["spec"]["template"]
    name, uid = name_of(job), job["metadata"]["uid"]
    stem = f"{name}-" if index is None else f"{name}-{index}-"
    metadata: Obj = copy.deepcopy(template["metadata"])
    metadata |= {
        "generateName": stem,
        "name": stem[:58] + suffix(),
        "namespace": job["metadata"]["namespace"],
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": name,
                "uid": uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "finalizers": [JOB_TRACKING],
    }
    pod: Obj = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": copy.deepcopy(template["spec"])}
    if index is not None:
        _give_index(pod, index)
        pod["spec"].setdefault("hostname", f"{name}-{index}")
        if "backoffLimitPerIndex" in job["spec"]:
            metadata["annotations"][FAILURES] = str(failures)
    pod_defaults(pod)
    return pod


def _give_index(pod: Obj, index: int) -> None:
    metadata, spec = pod["metadata"], pod["spec"]
    metadata.setdefault("annotations", {})[INDEX_LABEL] = str(index)
    metadata.setdefault("labels", {})[INDEX_LABEL] = str(index)
    field = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX_LABEL}']"}
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        env = container.setdefault("env", [])
        if all(each["name"] != "JOB_COMPLETION_INDEX" for each in env):
            env.append({"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": field}})


def index_of(pod: Obj) -> int | None:
    """Return the pod's index in its Job."""
    found = labels_of(pod).get(INDEX_LABEL)
    return None if found is None else int(found)


def succeeded(pod: Obj) -> bool:
    """Tell whether the pod ended well."""
    return bool(pod["status"].get("phase") == "Succeeded")


def failed(pod: Obj) -> bool:
    """Tell whether the pod ended badly."""
    return bool(pod["status"].get("phase") == "Failed")


def is_active(pod: Obj) -> bool:
    """Tell whether the pod runs, or will."""
    return not (succeeded(pod) or failed(pod) or is_deleted(pod))


def is_ready(pod: Obj) -> bool:
    """Tell whether the pod's containers all run."""
    return holds(pod, "Ready") and not is_deleted(pod)


def restarts(pod: Obj) -> int:
    """Return how often the pod's containers were started again."""
    status = pod["status"]
    each = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    return sum(status["restartCount"] for status in each)


def matching_rule(job: Obj, pod: Obj) -> tuple[Obj, str] | None:
    """Return the first rule of the Job's failure policy that the failed pod matches, and the words for it."""
    for position, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or []):
        pattern = rule.get("onExitCodes")
        found = _exit_match(pattern, pod) if pattern else _condition_match(rule["onPodConditions"], pod)
        if found:
            return rule, f"{found} matching {rule['action']} rule at index {position}"
    return None


def _exit_match(pattern: Obj, pod: Obj) -> str | None:
    statuses: list[Any] = [
        *(pod["status"].get("initContainerStatuses") or []),
        *(pod["status"].get("containerStatuses") or []),
    ]
    for status in statuses:
        ended = status["state"].get("terminated")
        if not ended or ended["exitCode"] == 0 or pattern.get("containerName") not in {None, status["name"]}:
            continue
        code = ended["exitCode"]
        if (code in pattern["values"]) is (pattern["operator"] == "In"):
            return f"Container {status['name']} for pod {_path(pod)} failed with exit code {code}"
    return None


def _condition_match(patterns: list[Obj], pod: Obj) -> str | None:
    for pattern in patterns:
        for condition in pod["status"].get("conditions") or []:
            if condition["type"] == pattern["type"] and condition["status"] == pattern.get("status", "True"):
                return f"Pod {_path(pod)} has condition {pattern['type']}"
    return None


def _path(pod: Obj) -> str:
    return f"{pod['metadata']['namespace']}/{name_of(pod)}"
