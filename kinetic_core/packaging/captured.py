"""Data that a function captures: in a default, a closure or a global, where no walk of the arguments finds it."""

import functools
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from kinetic_core.errors import PackagingError, SerializationError
from kinetic_core.packaging.call import global_label
from kinetic_core.packaging.reach import closure_values, global_values, module_reads, namespace_of
from kinetic_core.walk import find

_CONTAINERS: Final = (list, tuple, dict, set, frozenset)


def refuse_captured(
    function: Callable[..., Any], *, matches: Callable[[object], bool], first_party: Mapping[str, ModuleType]
) -> None:
    """Refuse a function that, or of which a helper, captures what only an argument can hold.

    Attributes of objects are not looked into, as in arguments.

    Args:
        function: What is to run.
        matches: Tells what is looked for.
        first_party: Modules whose functions travel by value.

    Raises:
        SerializationError: Names each place.

    >>> refuse_captured(lambda path="/data": path, matches=lambda value: value == "/data", first_party={})
    Traceback (most recent call last):
    kinetic_core.errors.SerializationError: ... default value 'path' of <lambda>; ...
    """
    found: list[str] = []
    waiting = deque[tuple[str, object]]([("the function", function)])
    seen: set[int] = set()
    while waiting:
        label, value = waiting.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        found.extend(_matching(label, value, matches))
        waiting.extend(_inside(value, first_party))
    if found:
        raise SerializationError(
            f"kinetic cannot resolve Data that a function captures: {'; '.join(found)}; pass it as an argument, so that"
            " the function gets a path that exists where it runs"
        )


def _matching(label: str, value: object, matches: Callable[[object], bool]) -> Iterator[str]:
    if matches(value):
        yield label
    elif isinstance(value, _CONTAINERS):
        try:
            yield from (
                f"{label}{place.position.removeprefix('arg 0')}" for place in find((value,), {}, matches=matches)
            )
        except PackagingError:
            yield f"somewhere in {label}"


def _inside(value: object, first_party: Mapping[str, ModuleType]) -> Iterator[tuple[str, object]]:
    match value:
        case FunctionType() if _travels_by_value(value, first_party):
            yield from _captured_by(value)
            for module, name in module_reads(value, first_party):
                namespace = namespace_of(module)
                yield global_label(namespace["__name__"], name), namespace[name]
        case type() if _travels_by_value(value, first_party):
            yield from (
                (f"attribute {name!r} of class {value.__qualname__}", item) for name, item in vars(value).items()
            )
        case MethodType() | classmethod() | staticmethod():
            yield f"the method {getattr(value, '__name__', '')!r}", value.__func__
        case functools.partial():
            yield "the function of a partial", value.func
            yield "the arguments of a partial", value.args
            yield "the keyword arguments of a partial", value.keywords
        case property():
            yield "a property", value.fget
        case _ if isinstance(wrapped := getattr(value, "__wrapped__", None), FunctionType):
            yield f"the function {wrapped.__qualname__}", wrapped


def _captured_by(function: FunctionType) -> Iterator[tuple[str, object]]:
    of = f"of {function.__qualname__}"
    code = function.__code__
    defaults = function.__defaults__ or ()
    for name, value in zip(code.co_varnames[code.co_argcount - len(defaults) :], defaults, strict=False):
        yield f"default value {name!r} {of}", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f"default value {name!r} {of}", value
    for name, value in closure_values(function):
        yield f"closure variable {name!r} {of}", value
    for name, value in global_values(function):
        yield global_label(function.__globals__.get("__name__"), name), value


def _travels_by_value(value: FunctionType | type, first_party: Mapping[str, ModuleType]) -> bool:
    module = value.__module__
    return module in first_party or module == "__main__" or "<" in value.__qualname__
