"""Checking that a value is JSON and nothing more, so that the pod reads what the plugin wrote."""

import math
from typing import Any


def check_json(value: Any) -> tuple[str, Any]:
    """Say where a value is no JSON, or nothing, and return a copy made of plain types.

    >>> check_json({"commit": "0a1b", "parents": ("2c3d",)})
    ('', {'commit': '0a1b', 'parents': ['2c3d']})
    >>> check_json({"seen": [{1}]})[0]
    "['seen'][0] is of type set"
    """
    try:
        return "", _copied(value, "")
    except _NotJsonError as error:
        return str(error), None
    except RecursionError:
        return "it is nested too deeply, or holds itself", None


class _NotJsonError(Exception):
    pass


def _copied(value: Any, position: str) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise _NotJsonError(f"{position or 'it'} is {value}")
            return value
        case dict():
            return {_key(key, position): _copied(item, f"{position}[{key!r}]") for key, item in value.items()}
        case list() | tuple():
            return [_copied(item, f"{position}[{index}]") for index, item in enumerate(value)]
        case _:
            raise _NotJsonError(f"{position or 'it'} is of type {type(value).__name__}")


def _key(key: Any, position: str) -> str:
    if not isinstance(key, str):
        raise _NotJsonError(f"{position or 'it'} has the key {key!r}, which is no text")
    return key
