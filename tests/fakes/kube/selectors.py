"""Label and field selectors, as lists and watches take them."""

import re
from collections.abc import Callable
from typing import TypeAlias

from tests.fakes.kube.answers import bad_request
from tests.fakes.kube.objects import Obj, labels_of

Matcher: TypeAlias = Callable[[Obj], bool]
_SET = re.compile(r"^(?P<key>\S+)\s+(?P<operator>in|notin)\s+\((?P<values>[^)]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^!=\s]+)\s*(?P<operator>==|=|!=)\s*(?P<value>\S*)$")
_PRESENCE = re.compile(r"^(?P<absent>!?)\s*(?P<key>[\w./-]+)$")


def label_matcher(text: str) -> Matcher:
    """Return what tells whether an object's labels match.

    Raises:
        Refusal: The selector cannot be read.
    """
    parts = [_label_part(part.strip()) for part in re.split(r",(?![^()]*\))", text) if part.strip()]
    return lambda obj: all(part(labels_of(obj)) for part in parts)


def _label_part(text: str) -> Callable[[dict[str, str]], bool]:
    if found := _SET.match(text):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["operator"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(text):
        key, value = found["key"], found["value"]
        if found["operator"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _PRESENCE.match(text):
        key, absent = found["key"], bool(found["absent"])
        return lambda labels: (key in labels) != absent
    raise bad_request(f"unable to parse requirement: found '{text}'")


def selects(selector: Obj, labels: dict[str, str]) -> bool:
    """Tell whether an object's own `matchLabels` selector matches; expressions are not used here."""
    wanted: dict[str, str] = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items())


def field_matcher(text: str) -> Matcher:
    """Return what tells whether an object's fields match.

    Raises:
        Refusal: The selector cannot be read.
    """
    parts = [_field_part(part.strip()) for part in text.split(",") if part.strip()]
    return lambda obj: all(part(obj) for part in parts)


def _field_part(text: str) -> Matcher:
    found = _EQUAL.match(text)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{text}'")
    path, value, wanted = found["key"].split("."), found["value"], found["operator"] != "!="
    return lambda obj: (_field(obj, path) == value) is wanted


def _field(obj: Obj, path: list[str]) -> str:
    value: object = obj
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None else str(value)
