"""Bisection: from a pickling error to the component and the object that cannot travel.

Nothing is serialised a second time: the pickler remembers which object it looked at last, and a search through what
the component refers to finds the way to it.
"""

import pickle
from collections.abc import Collection, Mapping
from typing import Final

import attrs

from kinetic_core.errors import SerializationError
from kinetic_core.packaging.call import Call, argument_label, function_label, keyword_label
from kinetic_core.packaging.pathfinding import Pathfinder

_ADVICE: Final = "open or build it inside the function, pass a path to what it holds, or use kinetic.Data for files"
_ADVICE_DEPTH: Final = "flatten it, or write it to a file and pass kinetic.Data or the path"
_MAX_CAUSE_CHARS: Final = 500


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Failure:
    """What the pickler knew when it failed."""

    error: Exception
    path: tuple[str, ...]
    """Labels of what was being written, the outermost first."""
    latest: object
    """The object that it looked at last, no plain value or container."""
    opened: Collection[int]
    """Ids of the functions, classes and modules that travel by value, and so have an inside."""
    reads: Mapping[str, Collection[str]]
    """Names that the code reads from modules that travel by value."""


def explain(call: Call, failure: Failure) -> SerializationError:
    """Return the error that tells what cannot travel, where it is, why, and what to do.

    Chain the original to it with `from`.
    """
    label, component = _component(call, failure.path)
    too_deep = _is_recursion(failure.error)
    parts = [
        f"kinetic could not serialize {label} (type {type(component).__name__}): {_cause(failure.error)}",
        _ADVICE_DEPTH if too_deep else _ADVICE,
    ]
    if not too_deep:
        parts.append(_culprit(label, component, failure))
    return SerializationError("; ".join(parts))


def _component(call: Call, path: tuple[str, ...]) -> tuple[str, object]:
    """Return the top-level component that was being written; what belongs to none is the function's."""
    outermost = path[0] if path else ""
    for index, value in enumerate(call.args):
        if outermost == argument_label(index):
            return outermost, value
    for name, value in call.kwargs.items():
        if outermost == keyword_label(name):
            return outermost, value
    return function_label(call), call.function


def _is_recursion(error: BaseException) -> bool:
    return isinstance(error, RecursionError) or (
        isinstance(error, pickle.PicklingError) and isinstance(error.__cause__, RecursionError)
    )


def _cause(error: Exception) -> str:
    if _is_recursion(error):
        return "it is nested too deeply, or refers to itself without end"
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - an exception's own __str__ may raise anything
        text = ""
    name = type(error).__name__
    if not text:
        return f"{name} without a message"
    return f"{name}: {text if len(text) <= _MAX_CAUSE_CHARS else text[:_MAX_CAUSE_CHARS] + '…'}"


def _culprit(label: str, component: object, failure: Failure) -> str:
    kind = type(failure.latest).__name__
    try:
        found = Pathfinder(failure.latest, opened=failure.opened, reads=failure.reads).way(label, component)
    except Exception:  # noqa: BLE001 - the search looks at the user's objects, which may raise anything
        found = None
    if found is None:
        within = f", by way of {failure.path[-1]}" if len(failure.path) > 1 else ""
        return f"the culprit is something that is made when it is pickled (type {kind}){within}"
    place, entered = found
    return f"the culprit is {place} (type {kind}){entered}"
