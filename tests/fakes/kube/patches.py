"""The four kinds of patch that the API takes."""

import copy
from typing import Any, Final

from tests.fakes.kube.answers import Refusal, bad_request
from tests.fakes.kube.objects import Obj

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
# Lists that a strategic merge takes as mappings, by the field that is their key.
MERGE_KEYS: Final = {
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumes": "name",
}


def patched(obj: Obj, patch: Any, content_type: str) -> Obj:
    """Return the object with the patch applied.

    Raises:
        Refusal: The patch is of an unknown kind, or does not apply.
    """
    match content_type.partition(";")[0].strip():
        case "application/json-patch+json":
            return _json_patched(obj, patch)
        case "application/merge-patch+json":
            merged: Obj = _merged(obj, patch)
            return merged
        case "application/strategic-merge-patch+json" | "application/apply-patch+yaml":
            strategic: Obj = _strategic(obj, patch)
            return strategic
        case other:
            raise Refusal(
                code=415,
                reason="UnsupportedMediaType",
                message=f"the body of the request was in an unknown format - accepted media types include: "
                f"{JSON_PATCH}, {MERGE}, {STRATEGIC}, {APPLY}; got {other}",
                details={},
            )


def _merged(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result


def _strategic(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    if patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            result.pop(key, None)
        elif isinstance(value, list) and key in MERGE_KEYS and isinstance(result.get(key), list):
            result[key] = _merged_list(result[key], value, MERGE_KEYS[key])
        elif isinstance(value, list) and key == "finalizers":
            result[key] = [*result.get(key, []), *(each for each in value if each not in result.get(key, []))]
        else:
            result[key] = _strategic(result.get(key), value)
    return result


def _merged_list(old: list[Any], patch: list[Any], key: str) -> list[Any]:
    result = list(old)
    for item in patch:
        index = next((i for i, each in enumerate(result) if each.get(key) == item.get(key)), None)
        if item.get("$patch") == "delete":
            result = [each for i, each in enumerate(result) if i != index]
        elif index is None:
            result.append(copy.deepcopy(item))
        else:
            result[index] = _strategic(result[index], item)
    return result


def _json_patched(obj: Obj, steps: list[Obj]) -> Obj:
    result: Any = copy.deepcopy(obj)
    for step in steps:
        path = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
        parent = _reached(result, path[:-1])
        try:
            _step(parent, path[-1], step)
        except (KeyError, IndexError, ValueError) as error:
            raise _inapplicable(step) from error
    made: Obj = result
    return made


def _reached(value: Any, path: list[str]) -> Any:
    for part in path:
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise bad_request(f"the server rejected our request due to an error in our request: {part}") from error
    return value


def _step(parent: Any, last: str, step: Obj) -> None:
    is_list = isinstance(parent, list)
    match step["op"]:
        case "add" if is_list:
            parent.insert(len(parent) if last == "-" else int(last), step["value"])
        case "add":
            parent[last] = step["value"]
        case "replace":
            parent[int(last) if is_list else last]
            parent[int(last) if is_list else last] = step["value"]
        case "remove":
            del parent[int(last) if is_list else last]
        case "test":
            if (parent[int(last)] if is_list else parent.get(last)) != step["value"]:
                raise _inapplicable(step)
        case other:
            raise bad_request(f"unknown JSON patch operation {other}")


def _inapplicable(step: Obj) -> Refusal:
    message = f"the server rejected our request due to an error in our request: {step['op']} {step['path']}"
    return Refusal(code=422, reason="Invalid", message=message, details={})
