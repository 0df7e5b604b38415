"""Admission beyond the server's own: the webhooks of the three custom resources, and refusals asked for."""

import json
from typing import Any, Final

from tests.fakes.kube.answers import Cause, Refusal, invalid
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.pod_faults import PodFaults
from tests.fakes.kube.resources import Resource

_HOOKS: Final = {
    "jobsets.jobset.x-k8s.io": ("mjobset.kb.io", "vjobset.kb.io", "JobSetSpec"),
    "leaderworkersets.leaderworkerset.x-k8s.io": (
        "mleaderworkerset.kb.io",
        "vleaderworkerset.kb.io",
        "LeaderWorkerSetSpec",
    ),
}
_GO_LISTS: Final = {"replicatedJobs": "[]v1alpha2.ReplicatedJob"}


class Webhooks:
    """Answers as the controllers' own webhooks did on the recorded server."""

    def __init__(self, faults: PodFaults) -> None:
        self._faults = faults

    def decode(self, resource: Resource, body: Obj) -> None:
        """Refuse a value of the wrong type, where a mutating webhook reads the object before the schema does.

        Raises:
            Refusal: 400, without a reason.
        """
        hooks = _HOOKS.get(resource.id)
        if hooks is None or resource.schema is None:
            return
        mutating, _, spec_type = hooks
        properties = resource.schema["properties"]["spec"].get("properties", {})
        for name, value in (body.get("spec") or {}).items():
            wanted = properties.get(name, {}).get("type")
            if wanted == "array" and not isinstance(value, list):
                kind = _go_kind(value)
                field = f"{spec_type}.spec.{name} of type {_GO_LISTS.get(name, '[]')}"
                why = f"json: cannot unmarshal {kind} into Go struct field {field}"
                raise Refusal(code=400, message=f'admission webhook "{mutating}" denied the request: {why}')

    def mutate(self, resource: Resource, obj: Obj) -> None:
        """Fill in what a mutating webhook fills in."""
        spec = obj["spec"]
        if resource.id == "jobsets.jobset.x-k8s.io":
            network = spec.setdefault("network", {})
            network.setdefault("enableDNSHostnames", True)
            network.setdefault("publishNotReadyAddresses", True)
            spec.setdefault("startupPolicy", {"startupPolicyOrder": "AnyOrder"})
            spec.setdefault("successPolicy", {"operator": "All"})
            for job in spec["replicatedJobs"]:
                job["template"].setdefault("metadata", {})
                job["template"]["spec"].setdefault("completionMode", "Indexed")
                job["template"]["spec"]["template"].setdefault("metadata", {})
        elif resource.id == "leaderworkersets.leaderworkerset.x-k8s.io":
            spec["leaderWorkerTemplate"]["workerTemplate"].setdefault("metadata", {})
            spec.setdefault("networkConfig", {}).setdefault("subdomainPolicy", "Shared")
            rolling = {"maxSurge": 0, "maxUnavailable": 1, "partition": 0}
            spec.setdefault("rolloutStrategy", {"rollingUpdateConfiguration": rolling, "type": "RollingUpdate"})

    def admit(self, resource: Resource, obj: Obj) -> None:
        """Refuse a new object that a validating webhook does not let in.

        Raises:
            Refusal: 403.
        """
        if resource.id != "leaderworkersets.leaderworkerset.x-k8s.io":
            return
        size = obj["spec"]["leaderWorkerTemplate"].get("size", 1)
        if size < 1:
            _, validating, _ = _HOOKS[resource.id]
            why = f"spec.leaderWorkerTemplate.size: Invalid value: {size}: size must be equal or greater than 1"
            message = f'admission webhook "{validating}" denied the request: {why}'
            raise Refusal(code=403, reason="Forbidden", message=message)

    def admit_change(self, resource: Resource, before: Obj, after: Obj) -> None:
        """Refuse a change of what a validating webhook holds to be immutable.

        Raises:
            Refusal: 422.
        """
        old, new = before["spec"].get("replicatedJobs"), after["spec"].get("replicatedJobs")
        if resource.id != "jobsets.jobset.x-k8s.io" or old == new:
            return
        told = f"Invalid value: {json.dumps(new)}: field is immutable"
        refusal = invalid(
            resource.kind, resource.group, before["metadata"]["name"], [Cause("spec.replicatedJobs", told)]
        )
        message = f'admission webhook "{_HOOKS[resource.id][1]}" denied the request: {refusal.message}'
        raise Refusal(code=422, reason="Invalid", message=message, details=refusal.details)

    def admit_pod(self, pod: Obj) -> None:
        """Refuse a pod that shall not be let in.

        Raises:
            Refusal: 403.
        """
        for kind in ("quota", "admission"):
            fault = self._faults.of(pod, kind)
            if fault is not None:
                raise Refusal(code=403, reason="Forbidden", message=fault["message"])


def _go_kind(value: Any) -> str:
    return {str: "string", bool: "bool", dict: "object"}.get(type(value), "number")
