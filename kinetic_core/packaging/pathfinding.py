"""Pathfinding: how to get from one object to another through what objects refer to."""

import functools
import itertools
from array import array
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import attrs

from kinetic_core.packaging.call import global_label
from kinetic_core.packaging.reach import closure_values, global_values

_MAX_KEY_CHARS: Final = 60
# A longer way, as along a linked list, is told by its ends.
_MAX_STEPS: Final = 12
_END_STEPS: Final = 3
# These refer to nothing.
_PLAIN: Final = frozenset((int, float, complex, bool, str, bytes, bytearray, range, type(None), BuiltinFunctionType))
_CODE: Final = (FunctionType, type, ModuleType)
_SPECIAL: Final = (
    *_CODE,
    *(MethodType, functools.partial, property, classmethod, staticmethod),
    *(dict, list, tuple, deque, set, frozenset, BaseException),
)


@attrs.frozen(eq=False, repr=False)
class _Step:
    """One step of the way: what is added to the text, or the text with which the way begins anew."""

    text: str
    anew: bool = False


class Pathfinder:
    """Looks for one object, breadth first, by identity.

    It keeps a pointer and a number for each object that refers to others, and no copy of anything. What a step is
    called is worked out once the way is known, as most steps lead nowhere.
    """

    def __init__(self, wanted: object, *, opened: Collection[int], reads: Mapping[str, Collection[str]]) -> None:
        """Take the object to look for.

        Args:
            wanted: The object.
            opened: Ids of the functions, classes and modules to look into.
            reads: By module, the names to look at in it.
        """
        self._wanted = wanted
        self._opened = opened
        self._reads = reads
        self._simple: dict[type, bool] = {}

    def way(self, label: str, start: object) -> tuple[str, str] | None:
        """Return how to get from the start to the object in fewest steps, and by way of what; or `None`.

        Args:
            label: What the start is called.
            start: Where to begin.
        """
        if start is self._wanted:
            return label, ""
        wanted, found, outer, seen = self._wanted, [start], array("q", [-1]), {id(start)}
        for index, value in enumerate(found):  # which grows meanwhile
            for child in self._children(value):
                if child is wanted:
                    return self._written(label, [*_line(found, outer, index), child])
                if type(child) in _PLAIN or id(child) in seen or _is_barren(child):
                    continue
                seen.add(id(child))
                found.append(child)
                outer.append(index)
        return None

    def _children(self, value: Any) -> Iterable[object]:
        kind = type(value)
        if kind is list or kind is tuple:
            return value  # type: ignore[no-any-return]
        if kind is dict:
            return itertools.chain(value.values(), value)
        simple = self._simple.get(kind)
        if simple is None:
            simple = self._simple[kind] = _has_only_attributes(kind)
        if simple:
            own = object.__getattribute__(value, "__dict__")
            return own.values()  # type: ignore[no-any-return]
        return [child for _, child in self._steps(value)]

    def _written(self, label: str, line: list[object]) -> tuple[str, str]:
        """Write down the way, and where it first entered what a function captures."""
        texts, entered = [label], ""
        for value, child in itertools.pairwise(line):
            step = next(step for step, part in self._steps(value) if part is child)
            if step.anew:
                entered = entered or f", by way of {step.text}"
                texts = []
            texts.append(step.text)
        if entered == f", by way of {texts[0]}":
            entered = ""
        if len(texts) > _MAX_STEPS:
            left_out = len(texts) - 2 * _END_STEPS
            texts = [*texts[:_END_STEPS], f"…({left_out} more steps)…", *texts[-_END_STEPS:]]
        return "".join(texts), entered

    def _steps(self, value: object) -> Iterator[tuple[_Step, object]]:
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


def _line(found: list[object], outer: "array[int]", index: int) -> list[object]:
    line = []
    while index >= 0:
        line.append(found[index])
        index = outer[index]
    return line[::-1]


def _is_barren(value: Any) -> bool:
    """Tell whether a container holds plain values only, as most do: then it need not be remembered."""
    kind = type(value)
    if kind is list or kind is tuple:
        return _PLAIN.issuperset(map(type, value))
    return kind is dict and _PLAIN.issuperset(map(type, value.values())) and _PLAIN.issuperset(map(type, value))


def _has_only_attributes(kind: type) -> bool:
    slots = any(vars(cls).get("__slots__") for cls in kind.__mro__)
    return kind.__dictoffset__ != 0 and not slots and not issubclass(kind, _SPECIAL)


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
                yield _Step(f"[{_short(key)}]"), item
                yield _Step(f"{{key {_short(key)}}}"), key
        case list() | tuple() | deque():
            yield from ((_Step(f"[{index}]"), item) for index, item in enumerate(value))
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


def _short(key: object) -> str:
    try:
        text = repr(key)
    except Exception:  # noqa: BLE001 - a key's own repr may do anything, and a message must still be made
        return f"<{type(key).__name__}>"
    return text if len(text) <= _MAX_KEY_CHARS else f"{text[:_MAX_KEY_CHARS]}…"
