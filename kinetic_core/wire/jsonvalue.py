"""Which values the JSON format carries, checked before anything is lost silently."""

import math
from collections.abc import Iterator
from typing import Any, Final

_SCALARS: Final = (str, int, bool, type(None))
_CONTAINERS: Final = (list, tuple, dict)
_MAX_KEY_CHARS: Final = 80


def json_problem(value: Any, position: str) -> str | None:
    """Say what in a value JSON cannot hold, and where; `None` when all of it travels.

    Text, numbers, booleans, `None`, lists, tuples (which arrive as lists) and dicts with text keys travel, but
    no subclasses of them, which would lose their type. Depth is not limited by the recursion limit.

    Args:
        value: Anything.
        position: What to call the value itself, such as `argument 0`.

    >>> json_problem({"a": [1, 2.5, None]}, "the result") is None
    True
    >>> json_problem({"a": [1, {2}]}, "the result")
    "the result['a'][1] is a set"
    """
    problem = _problem(value)
    if problem is not None:
        return f"{position} {problem}"
    steps, inside, path = [position], {id(value)}, [(value, _items(value))]
    while path:
        container, items = path[-1]
        for at, item in items:
            problem = "is a circular reference" if id(item) in inside else _problem(item)
            if problem is not None:
                return f"{''.join(steps)}{_step(at)} {problem}"
            if type(item) in _CONTAINERS:
                steps.append(_step(at))
                inside.add(id(item))
                path.append((item, _items(item)))
                break
        else:
            path.pop()
            steps.pop()
            inside.discard(id(container))
    return None


def _problem(value: Any) -> str | None:
    kind = type(value)
    if kind is float:
        return None if math.isfinite(value) else f"is {value}"
    if kind in _SCALARS or kind in (list, tuple):
        return None
    if kind is dict:
        return next((f"has the key {_short(key)}, which is no text" for key in value if type(key) is not str), None)
    return f"is {'an' if kind.__name__[0] in 'aeiouAEIOU' else 'a'} {kind.__name__}"


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if type(value) is dict:
        return iter(value.items())
    return enumerate(value if type(value) in _CONTAINERS else ())


def _step(at: Any) -> str:
    return f"[{_short(at)}]"


def _short(key: Any) -> str:
    try:
        text = repr(key)
    except Exception:  # noqa: BLE001 - a key's own repr may do anything, and a message must still be made
        return f"<{type(key).__name__}>"
    return text if len(text) <= _MAX_KEY_CHARS else f"{text[:_MAX_KEY_CHARS]}…"
