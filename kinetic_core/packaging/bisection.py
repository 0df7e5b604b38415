"""Bisection: from a pickling error to the component and the object that cannot travel.

Nothing is serialised a second time: the pickler remembers which object it looked at last, and a search through what
the component refers to finds the way to it.
"""

import functools
import pickle
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import attrs

from kinetic_core.errors import SerializationError
from kinetic_core.packaging.call import Call, argument_label, function_label, global_label, keyword_label
from kinetic_core.packaging.reach import closure_values, global_values

_ADVICE: Final = "open or build it inside the function, pass a path to what it holds, or use kinetic.Data for files"
_ADVICE_DEPTH: Final = "flatten it, or write it to a file and pass kinetic.Data or the path"
_MAX_CAUSE_CHARS: Final = 500
_MAX_KEY_CHARS: Final = 60
# A longer way, as along a linked list, is told by its ends.
_MAX_STEPS: Final = 12
_END_STEPS: Final = 3
# These refer to nothing and always travel.
_PLAIN: Final = frozenset((int, float, complex, bool, str, bytes, bytearray, range, type(None), BuiltinFunctionType))


@attrs.frozen(kw_only=True)
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
        found = _Search(failure).way(label, component)
    except Exception:  # noqa: BLE001 - the search looks at the user's objects, which may raise anything
        found = None
    if found is None:
        within = f", by way of {failure.path[-1]}" if len(failure.path) > 1 else ""
        return f"the culprit is something that is made when it is pickled (type {kind}){within}"
    place, entered = found
    return f"the culprit is {place} (type {kind}){entered}"


@attrs.frozen
class _Step:
    """One step of the way: what is added to the text, or the text with which the way begins anew."""

    text: str
    anew: bool = False


class _Search:
    """Looks for one object, breadth first, by identity; keeps no copy of anything but the way."""

    def __init__(self, failure: Failure) -> None:
        self._wanted = failure.latest
        self._opened = failure.opened
        self._reads = failure.reads

    def way(self, label: str, start: object) -> tuple[str, str] | None:
        """Return how to get from the start to the object in fewest steps, and by way of what; or `None`."""
        if start is self._wanted:
            return label, ""
        nodes: list[tuple[object, int, _Step]] = [(start, -1, _Step(label, anew=True))]
        waiting = deque([0])
        seen = {id(start)}
        while waiting:
            index = waiting.popleft()
            for step, value in self._inside(nodes[index][0]):
                if type(value) in _PLAIN or id(value) in seen:
                    continue
                seen.add(id(value))
                nodes.append((value, index, step))
                if value is self._wanted:
                    return _written(nodes)
                waiting.append(len(nodes) - 1)
        return None

    def _inside(self, value: object) -> Iterator[tuple[_Step, object]]:
        match value:
            case FunctionType() | type() | ModuleType():
                if id(value) in self._opened:
                    yield from self._code_parts(value)
            case MethodType():
                yield _Step(".__self__"), value.__self__
                yield _Step(".__func__"), value.__func__
            case functools.partial():
                yield from _partial_parts(value)
            case property():
                yield from ((_Step(f".{name}"), getattr(value, name)) for name in ("fget", "fset", "fdel"))
            case classmethod() | staticmethod():
                yield _Step(".__func__"), value.__func__
            case _:
                yield from _items(value)
                yield from _attributes(value)

    def _code_parts(self, value: FunctionType | type | ModuleType) -> Iterator[tuple[_Step, object]]:
        match value:
            case FunctionType():
                yield from _function_parts(value)
            case type():
                yield from _class_parts(value)
            case _:
                yield from self._module_parts(value)

    def _module_parts(self, module: ModuleType) -> Iterator[tuple[_Step, object]]:
        for name in self._reads.get(module.__name__, ()):
            yield _Step(global_label(module.__name__, name), anew=True), vars(module)[name]


def _function_parts(function: FunctionType) -> Iterator[tuple[_Step, object]]:
    of = f"of {function.__qualname__}"
    code = function.__code__
    defaults = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        yield _Step(f"default value {name!r} {of}", anew=True), value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield _Step(f"default value {name!r} {of}", anew=True), value
    for name, value in closure_values(function):
        yield _Step(f"closure variable {name!r} {of}", anew=True), value
    for name, value in global_values(function):
        yield _Step(global_label(function.__globals__.get("__name__"), name), anew=True), value
    for name, value in vars(function).items():
        yield _Step(f"attribute {name!r} {of}", anew=True), value
    for name, value in function.__annotations__.items():
        yield _Step(f"annotation {name!r} {of}", anew=True), value


def _class_parts(cls: type) -> Iterator[tuple[_Step, object]]:
    for name, value in vars(cls).items():
        yield _Step(f"attribute {name!r} of class {cls.__qualname__}", anew=True), value
    for base in cls.__bases__:
        yield _Step(f"base {base.__name__} of class {cls.__qualname__}", anew=True), base


def _partial_parts(value: functools.partial[Any]) -> Iterator[tuple[_Step, object]]:
    yield _Step(".func"), value.func
    yield from ((_Step(f".args[{index}]"), item) for index, item in enumerate(value.args))
    yield from ((_Step(f".keywords[{key!r}]"), item) for key, item in value.keywords.items())
    yield from _attributes(value)


def _items(value: object) -> Iterator[tuple[_Step, object]]:
    match value:
        case dict():
            for key, item in dict.items(value):
                if type(item) not in _PLAIN:
                    yield _Step(f"[{_short(key)}]"), item
                if type(key) not in _PLAIN:
                    yield _Step(f"{{key {_short(key)}}}"), key
        case list() | tuple() | deque():
            yield from ((_Step(f"[{index}]"), item) for index, item in enumerate(value) if type(item) not in _PLAIN)
        case set() | frozenset():
            yield from ((_Step(f"{{member {_short(item)}}}"), item) for item in value)
        case BaseException():
            yield from ((_Step(f".args[{index}]"), item) for index, item in enumerate(value.args))


def _attributes(value: object) -> Iterator[tuple[_Step, object]]:
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    # A copy, and around any property of that name: looking must neither run the user's code nor change anything.
    for name, item in list(own.items()) if isinstance(own, dict) else ():
        yield _Step(f".{name}"), item
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{cls.__name__.lstrip('_')}{slot}" if slot.startswith("__") and not slot.endswith("__") else slot
            try:
                yield _Step(f".{name}"), object.__getattribute__(value, name)
            except AttributeError:
                continue  # the slot is empty


def _written(nodes: list[tuple[object, int, _Step]]) -> tuple[str, str]:
    """Write down the way to the last node, and where it first entered what the function captures."""
    texts: list[str] = []
    entered = ""
    index, is_complete = len(nodes) - 1, False
    while index > 0:
        _, outer, step = nodes[index]
        if not is_complete:
            texts.insert(0, step.text)
        elif step.anew:
            entered = f", by way of {step.text}"
        is_complete = is_complete or step.anew
        index = outer
    if not is_complete:
        texts.insert(0, nodes[0][2].text)
    if len(texts) > _MAX_STEPS:
        left_out = len(texts) - 2 * _END_STEPS
        texts = [*texts[:_END_STEPS], f"…({left_out} more steps)…", *texts[-_END_STEPS:]]
    return "".join(texts), entered


def _short(key: object) -> str:
    try:
        text = repr(key)
    except Exception:  # noqa: BLE001 - a key's own repr may do anything, and a message must still be made
        return f"<{type(key).__name__}>"
    return text if len(text) <= _MAX_KEY_CHARS else f"{text[:_MAX_KEY_CHARS]}…"
