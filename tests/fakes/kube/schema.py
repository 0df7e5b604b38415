"""Reading a body as the type it claims to be: unknown fields, wrong types, bad quantities."""

import base64
import functools
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import attrs

from tests.fakes.kube.answers import Refusal, bad_request
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.quantities import QUANTITY
from tests.fakes.kube.resources import Resource

SERVER_VERSION: Final = "1.36.0"
_REF: Final = "#/$defs/"
_GO_TYPES: Final = {"boolean": "bool", "string": "string", "integer": "int", "number": "float64"}
_JSON_TYPES: Final = {bool: "bool", int: "number", float: "number", str: "string", dict: "object", list: "array"}


@functools.cache
def definitions() -> dict[str, Obj]:
    """Return the types of the server's version, by their full names."""
    # Its data alone: importing the package takes as long as all the rest of the cluster.
    package = find_spec("kubernetes_validate")
    assert package is not None
    assert package.origin is not None
    folder = Path(package.origin).parent / "kubernetes-json-schema" / f"v{SERVER_VERSION}-local"
    found: dict[str, Obj] = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    return found


@functools.cache
def _type_of(group: str, version: str, kind: str) -> str | None:
    wanted = {"group": group, "kind": kind, "version": version}
    return next((name for name, each in definitions().items() if wanted in each.get(_KINDS, ())), None)


_KINDS: Final = "x-kubernetes-group-version-kind"


@attrs.define
class Decoded:
    """A body without the fields that its type lacks, and which those were."""

    obj: Obj
    unknown: list[str]


def decode(body: Any, resource: Resource) -> Decoded:
    """Read a built-in kind.

    Raises:
        Refusal: A value has the wrong type.
    """
    decoded = Decoded({}, [])
    name = _type_of(resource.group, resource.version, resource.kind)
    if name is None:
        return Decoded(dict(body), [])
    reader = _Reader(resource, decoded.unknown)
    decoded.obj = reader.read(body, definitions()[name], "", resource.kind)
    return decoded


@attrs.frozen
class _Reader:
    resource: Resource
    unknown: list[str]

    def read(self, value: Any, schema: Obj, path: str, owner: str) -> Any:
        if value is None:
            return None
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(_REF)
            return self._read_named(value, name, path, owner)
        types = schema.get("type", "object")
        kind = types if isinstance(types, str) else types[0]
        match kind:
            case "object":
                return self._read_object(value, schema, path, owner)
            case "array":
                self._require(value, list, "array", path, owner)
                items = schema["items"]
                return [self.read(each, items, f"{path}[{i}]", owner) for i, each in enumerate(value)]
            case "string" | "boolean" | "integer" | "number":
                self._scalar(value, kind, schema.get("format") or "", path, owner)
                return value
            case _:
                return value

    def _read_named(self, value: Any, name: str, path: str, owner: str) -> Any:
        short = name.rpartition(".")[2]
        match short:
            case "Quantity":
                if not isinstance(value, str | int | float) or not QUANTITY.match(str(value)):
                    raise self._unreadable(f"quantities must match the regular expression '{QUANTITY.pattern}'")
                return str(value)
            case "Time" | "MicroTime" | "IntOrString" | "FieldsV1" | "RawExtension" | "JSONSchemaProps" | "JSON":
                return value
            case _:
                return self.read(value, definitions()[name], path, short)

    def _read_object(self, value: Any, schema: Obj, path: str, owner: str) -> Any:
        self._require(value, dict, owner, path, owner)
        if "additionalProperties" in schema:
            each = schema["additionalProperties"]
            return {key: self.read(item, each, f"{path}.{key}", owner) for key, item in value.items()}
        properties = schema.get("properties")
        if properties is None:
            return value
        read: Obj = {}
        for key, item in value.items():
            below = f"{path}.{key}" if path else key
            if key not in properties:
                self.unknown.append(below)
            elif item is not None:
                read[key] = self.read(item, properties[key], below, owner)
        return read

    def _scalar(self, value: Any, kind: str, form: str, path: str, owner: str) -> None:
        wanted = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}[kind]
        good = isinstance(value, wanted) and (kind == "boolean" or not isinstance(value, bool))  # type: ignore[arg-type]  # a type or a tuple of them
        if not good:
            raise self._mismatch(value, form or _GO_TYPES[kind], path, owner)
        if form == "byte":
            try:
                base64.b64decode(value, validate=True)
            except ValueError as error:
                raise self._unreadable("illegal base64 data at input byte 0") from error

    def _require(self, value: Any, wanted: type, shown: str, path: str, owner: str) -> None:
        if not isinstance(value, wanted):
            raise self._mismatch(value, shown, path, owner)

    def _mismatch(self, value: Any, wanted: str, path: str, owner: str) -> Refusal:
        found = _JSON_TYPES.get(type(value), "value")
        field = f"{owner}.{path}" if path else owner
        return self._unreadable(f"json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")

    def _unreadable(self, why: str) -> Refusal:
        kind, version = self.resource.kind, self.resource.version
        return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')
