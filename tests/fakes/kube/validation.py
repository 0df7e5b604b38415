"""What is wrong with an object: the checks that recordings show, and those that a driver can run into."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tests.fakes.kube.answers import Cause, Refusal, forbidden, invalid, invalid_value, required
from tests.fakes.kube.objects import Obj, name_of
from tests.fakes.kube.quantities import amount
from tests.fakes.kube.resources import Resource

LONGEST_LABEL: Final = 63
LONGEST_NAME: Final = 253
INDEXED_LIMIT: Final = 100_000
_SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_VALUE: Final = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_KEY_NAME: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENV_NAME: Final = r"[^=]+"
NOT_A_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
NOT_A_LABEL: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
NOT_A_LABEL_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_LABEL_VALUE}')"
)
NOT_A_KEY: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
# Kinds whose names are DNS labels; the others are subdomains.
_LABEL_NAMED: Final = {"namespaces", "services"}
_IMMUTABLE_DATA: Final = {"configmaps": ("data", "binaryData"), "secrets": ("data",)}


def check(resource: Resource, obj: Obj) -> None:
    """Refuse a new object for everything that is wrong with it.

    Raises:
        Refusal: 422, with all causes.
    """
    causes = list(_metadata_causes(resource, obj["metadata"]))
    match resource.id:
        case "jobs.batch":
            causes += _job_causes(obj)
        case "pods":
            causes += pod_spec_causes(obj["spec"], "spec")
    if causes:
        raise invalid(resource.kind, resource.group, obj["metadata"].get("name", ""), causes)


def _metadata_causes(resource: Resource, metadata: Obj) -> Iterator[Cause]:
    name = metadata.get("name", "")
    if not name:
        yield required("metadata.name", "name or generateName is required")
    elif resource.id in _LABEL_NAMED and not re.fullmatch(_LABEL, name):
        yield invalid_value("metadata.name", _shown(name), NOT_A_LABEL)
    elif not re.fullmatch(_SUBDOMAIN, name) and resource.group != "rbac.authorization.k8s.io":
        yield invalid_value("metadata.name", _shown(name), NOT_A_SUBDOMAIN)
    if len(name) > LONGEST_NAME:
        yield invalid_value("metadata.name", _shown(name), f"must be no more than {LONGEST_NAME} characters")
    yield from label_causes(metadata.get("labels") or {}, "metadata.labels")
    for key in metadata.get("annotations") or {}:
        yield from _key_causes(key, "metadata.annotations")


def label_causes(labels: dict[str, str], field: str) -> Iterator[Cause]:
    """Yield what is wrong with labels."""
    for key, value in labels.items():
        yield from _key_causes(key, field)
        if len(value) > LONGEST_LABEL:
            yield invalid_value(field, _shown(value), f"must be no more than {LONGEST_LABEL} bytes")
        elif not re.fullmatch(_LABEL_VALUE, value):
            yield invalid_value(field, _shown(value), NOT_A_LABEL_VALUE)


def _key_causes(key: str, field: str) -> Iterator[Cause]:
    prefix, slash, name = key.rpartition("/")
    if not re.fullmatch(_KEY_NAME, name) or (slash and not re.fullmatch(_SUBDOMAIN, prefix)):
        yield invalid_value(field, _shown(key), NOT_A_KEY)
    elif len(name) > LONGEST_LABEL:
        yield invalid_value(field, _shown(key), f"name part must be no more than {LONGEST_LABEL} bytes")


def _job_causes(job: Obj) -> Iterator[Cause]:
    spec = job["spec"]
    for name in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        if spec.get(name, 0) < 0:
            yield invalid_value(f"spec.{name}", str(spec[name]), "must be greater than or equal to 0")
    if spec["completionMode"] == "Indexed":
        if spec.get("completions") is None:
            yield required("spec.completions", "when completion mode is Indexed")
        elif spec["completions"] > INDEXED_LIMIT and spec["parallelism"] > INDEXED_LIMIT // 10:
            detail = f"must be less than or equal to {INDEXED_LIMIT // 10} when completions are over {INDEXED_LIMIT}"
            yield invalid_value("spec.parallelism", str(spec["parallelism"]), detail)
        else:
            yield from _index_causes(name_of(job), spec["completions"])
    elif "backoffLimitPerIndex" in spec:
        shown = str(spec["backoffLimitPerIndex"])
        yield invalid_value("spec.backoffLimitPerIndex", shown, "requires indexed completion mode")
    template = spec["template"]
    yield from label_causes(template["metadata"]["labels"], "spec.template.labels")
    pod = template["spec"]
    if pod["restartPolicy"] not in {"OnFailure", "Never"}:
        yield required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    elif "podFailurePolicy" in spec and pod["restartPolicy"] != "Never":
        shown = _shown(pod["restartPolicy"])
        yield invalid_value("spec.template.spec.restartPolicy", shown, 'only "Never" is supported')
    yield from _failure_policy_causes(spec)
    yield from pod_spec_causes(pod, "spec.template.spec")


def _index_causes(name: str, completions: int) -> Iterator[Cause]:
    """Yield that the host names of the Job's last pods would be none."""
    last = f"{name}-{completions - 1}"
    if re.fullmatch(_LABEL, name) and len(last) > LONGEST_LABEL:
        detail = f"will not able to create pod with invalid DNS label: {last}"
        yield invalid_value("metadata.name", _shown(name), detail)


def _failure_policy_causes(spec: Obj) -> Iterator[Cause]:
    for index, rule in enumerate((spec.get("podFailurePolicy") or {}).get("rules") or []):
        field = f"spec.podFailurePolicy.rules[{index}]"
        if rule.get("action") not in {"Count", "FailIndex", "FailJob", "Ignore"}:
            shown = _shown(rule.get("action"))
            supported = 'supported values: "Count", "FailIndex", "FailJob", "Ignore"'
            yield Cause(f"{field}.action", f"Unsupported value: {shown}: {supported}", "FieldValueNotSupported")
        if rule.get("action") == "FailIndex" and "backoffLimitPerIndex" not in spec:
            yield invalid_value(f"{field}.action", '"FailIndex"', "requires the backoffLimitPerIndex to be set")
        if ("onExitCodes" in rule) == ("onPodConditions" in rule):
            yield invalid_value(field, "{}", "specifying one of OnExitCodes and OnPodConditions is required")


def pod_spec_causes(spec: Obj, field: str) -> Iterator[Cause]:
    """Yield what is wrong with a pod's spec."""
    containers = spec.get("containers") or []
    if not containers:
        yield required(f"{field}.containers")
    volumes = {volume.get("name") for volume in spec.get("volumes") or []}
    for kind in ("initContainers", "containers"):
        names: set[str] = set()
        for index, container in enumerate(spec.get(kind) or []):
            at = f"{field}.{kind}[{index}]"
            yield from _container_causes(container, at, volumes)
            if container.get("name") in names:
                yield Cause(f"{at}.name", f"Duplicate value: {_shown(container['name'])}", "FieldValueDuplicate")
            names.add(container.get("name"))
    for index, volume in enumerate(spec.get("volumes") or []):
        if not re.fullmatch(_LABEL, volume.get("name", "")):
            yield invalid_value(f"{field}.volumes[{index}].name", _shown(volume.get("name", "")), NOT_A_LABEL)


def _container_causes(container: Obj, field: str, volumes: set[Any]) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{field}.name")
    elif not re.fullmatch(_LABEL, name) or len(name) > LONGEST_LABEL:
        yield invalid_value(f"{field}.name", _shown(name), NOT_A_LABEL)
    if not container.get("image"):
        yield required(f"{field}.image")
    for index, variable in enumerate(container.get("env") or []):
        if not re.fullmatch(_ENV_NAME, variable.get("name", "")):
            yield required(f"{field}.env[{index}].name")
        if variable.get("value") and "valueFrom" in variable:
            yield invalid_value(
                f"{field}.env[{index}].valueFrom", '""', "may not be specified when `value` is not empty"
            )
    for index, mount in enumerate(container.get("volumeMounts") or []):
        if mount.get("name") not in volumes:
            at, shown = f"{field}.volumeMounts[{index}].name", _shown(mount.get("name", ""))
            yield Cause(at, f"Not found: {shown}", "FieldValueNotFound")
    yield from _resource_causes(container["resources"], field)


def _resource_causes(resources: Obj, field: str) -> Iterator[Cause]:
    limits = resources.get("limits") or {}
    for what, asked in (resources.get("requests") or {}).items():
        if what in limits and amount(asked) > amount(limits[what]):
            detail = f"must be less than or equal to {what} limit of {limits[what]}"
            yield invalid_value(f"{field}.resources.requests", _shown(asked), detail)


def check_change(resource: Resource, before: Obj, after: Obj) -> None:
    """Refuse a change of what may not change.

    Raises:
        Refusal: 422 for what is immutable, 403 for what else a pod does not let happen.
    """
    causes = list(label_causes(after["metadata"].get("labels") or {}, "metadata.labels"))
    match resource.id:
        case "jobs.batch":
            causes += _job_change_causes(before, after)
        case "pods" if _frozen_pod(before) != _frozen_pod(after):
            raise _pod_refusal(after)
        case "configmaps" | "secrets" if before.get("immutable"):
            for field in _IMMUTABLE_DATA[resource.id]:
                if before.get(field) != after.get(field):
                    causes.append(
                        Cause(field, "Forbidden: field is immutable when `immutable` is set", "FieldValueForbidden")
                    )
    if causes:
        raise invalid(resource.kind, resource.group, after["metadata"]["name"], causes)


def _job_change_causes(before: Obj, after: Obj) -> Iterator[Cause]:
    old, new = before["spec"], after["spec"]
    unstarted = old.get("suspend") and not before["status"].get("startTime")
    for name in ("completionMode", "selector", "podFailurePolicy", "backoffLimitPerIndex", "template"):
        if old.get(name) != new.get(name) and not (name == "template" and unstarted):
            yield invalid_value(f"spec.{name}", json.dumps(new.get(name)), "field is immutable")
    if old.get("completions") != new.get("completions") and old["completionMode"] != "Indexed":
        yield invalid_value("spec.completions", str(new.get("completions")), "field is immutable")


def _frozen_pod(pod: Obj) -> Obj:
    spec = json.loads(json.dumps(pod["spec"]))
    for container in spec["containers"]:
        container.pop("image", None)
    for name in ("activeDeadlineSeconds", "tolerations", "nodeName", "terminationGracePeriodSeconds"):
        spec.pop(name, None)
    frozen: Obj = spec
    return frozen


def _pod_refusal(pod: Obj) -> Refusal:
    detail = (
        "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    )
    return invalid("Pod", "", pod["metadata"]["name"], [Cause("spec", detail, "FieldValueForbidden")])


def check_service_account(pod: Obj, *, known: bool) -> None:
    """Refuse a pod whose service account is not there.

    Raises:
        Refusal: 403, as admission says it.
    """
    if not known:
        account, namespace = pod["spec"]["serviceAccountName"], pod["metadata"]["namespace"]
        why = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
        raise forbidden("pods", "", pod["metadata"]["name"], why)


def _shown(value: object) -> str:
    return json.dumps(value)
