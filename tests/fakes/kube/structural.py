"""Custom resources by their definition's schema: pruning, defaults, and what is invalid."""

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.fakes.kube.answers import Cause, required
from tests.fakes.kube.objects import Obj

_PYTHON: Final[dict[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_NAMES: Final = {list: "array", bool: "boolean", int: "integer", float: "number", dict: "object", str: "string"}
_TOP: Final = ("apiVersion", "kind", "metadata")


def pruned(obj: Obj, schema: Obj, unknown: list[str]) -> Obj:
    """Return the object without the fields that its schema lacks; their paths are added to `unknown`."""
    top: Obj = {name: obj[name] for name in _TOP if name in obj}
    rest = {name: value for name, value in obj.items() if name not in _TOP}
    inner: Obj = _pruned(rest, schema, "", unknown)
    return {**top, **inner}


def _pruned(value: Any, schema: Obj, path: str, unknown: list[str]) -> Any:
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [_pruned(each, items, f"{path}[{i}]", unknown) for i, each in enumerate(value)]
    free = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource")
    if not isinstance(value, dict) or not schema:
        return value
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    kept: Obj = {}
    for name, item in value.items():
        below = f"{path}.{name}" if path else name
        if properties and name in properties:
            kept[name] = _pruned(item, properties[name], below, unknown)
        elif isinstance(others, dict):
            kept[name] = _pruned(item, others, below, unknown)
        elif others or free:
            kept[name] = item
        else:
            unknown.append(below)
    return kept


def fill(value: Any, schema: Obj) -> None:
    """Put the schema's defaults where the value says nothing."""
    if isinstance(value, list):
        for each in value:
            fill(each, schema.get("items") or {})
    if not isinstance(value, dict):
        return
    for name, below in (schema.get("properties") or {}).items():
        if name not in value and "default" in below:
            value[name] = json.loads(json.dumps(below["default"]))
        if name in value:
            fill(value[name], below)
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        for each in value.values():
            fill(each, others)


def causes(obj: Obj, schema: Obj) -> list[Cause]:
    """Return what is wrong with the object."""
    properties = schema.get("properties") or {}
    found = [required(name) for name in schema.get("required") or [] if name not in obj]
    for name, value in obj.items():
        if name not in _TOP and name in properties:
            found += _causes(value, properties[name], name)
    return found


def _causes(value: Any, schema: Obj, path: str) -> Iterator[Cause]:
    if value is None and schema.get("nullable"):
        return
    wanted = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str):
            yield _mistyped(value, "integer,string", path)
        return
    if wanted and not _is_a(value, wanted):
        yield _mistyped(value, wanted, path)
        return
    yield from _own_causes(value, schema, path)
    yield from _inner_causes(value, schema, path)


def _inner_causes(value: Any, schema: Obj, path: str) -> Iterator[Cause]:
    if isinstance(value, dict):
        for name in schema.get("required") or []:
            if name not in value:
                yield required(f"{path}.{name}")
        for name, item in value.items():
            below = (schema.get("properties") or {}).get(name) or schema.get("additionalProperties")
            if isinstance(below, dict):
                yield from _causes(item, below, f"{path}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _causes(item, schema.get("items") or {}, f"{path}[{index}]")


def _own_causes(value: Any, schema: Obj, path: str) -> Iterator[Cause]:
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(json.dumps(each) for each in schema["enum"])
        told = f"Unsupported value: {json.dumps(value)}: supported values: {supported}"
        yield Cause(path, told, "FieldValueNotSupported")
    for name, words, sign in (("minimum", "greater than or equal to", 1), ("maximum", "less than or equal to", -1)):
        if name in schema and isinstance(value, int | float) and (value - schema[name]) * sign < 0:
            told = f"Invalid value: {value}: {path} in body should be {words} {schema[name]}"
            yield Cause(path, told)
    if "maxItems" in schema and isinstance(value, list) and len(value) > schema["maxItems"]:
        yield Cause(path, f"Too many: {len(value)}: must have at most {schema['maxItems']} items", "FieldValueTooMany")
    if "maxLength" in schema and isinstance(value, str) and len(value) > schema["maxLength"]:
        yield Cause(path, f"Too long: may not be more than {schema['maxLength']} bytes", "FieldValueTooLong")


def _is_a(value: Any, wanted: str) -> bool:
    good = isinstance(value, _PYTHON[wanted])
    return good and (wanted == "boolean" or not isinstance(value, bool))


def _mistyped(value: Any, wanted: str, path: str) -> Cause:
    found = _NAMES.get(type(value), "null")
    told = f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
    return Cause(path, told, "FieldValueTypeInvalid")
