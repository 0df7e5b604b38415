"""What the standard library pickles by name alone, written by value: the pod's main script is another one."""

import functools
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Reduction = tuple[Any, ...]


def new_type(value: Any) -> Reduction:
    """Reduce a `typing.NewType`; its supertype may be a class that refers to it."""
    return typing.NewType, (value.__name__, None), (None, dict(vars(value)))


def parameter(value: Any) -> Reduction:
    """Reduce a `typing.ParamSpec` or `typing.TypeVarTuple`."""
    kind: Any = type(value)
    return (
        functools.partial(kind, **dict(_keywords(value))),
        (value.__name__,),
        (None, {"__module__": value.__module__}),
    )


def alias(value: Any) -> Reduction:
    """Reduce what a `type` statement makes; where it names itself, to that name, as nothing else can make such."""
    if names_itself(value):
        return typing.ForwardRef, (value.__name__,)
    kind: Any = type(value)
    return functools.partial(kind, type_params=value.__type_params__), (value.__name__, value.__value__)


def names_itself(value: Any) -> bool:
    """Tell whether an alias is part of its own value."""
    waiting, seen = [value.__value__], set()
    while waiting:
        hint = waiting.pop()
        if hint is value:
            return True
        if id(hint) not in seen:
            seen.add(id(hint))
            waiting += [*typing.get_args(hint), *([hint.__value__] if isinstance(hint, type(value)) else ())]
    return False


def cached_property(value: Any) -> Reduction:
    """Reduce a `functools.cached_property`, of which Python 3.11 keeps a lock."""
    state = {name: item for name, item in vars(value).items() if name != "lock"}
    # Any function will do: the state holds the real one, which may refer to the class that the property is part of.
    return functools.cached_property, (len,), state


def _keywords(value: Any) -> Iterator[tuple[str, Any]]:
    for name, absent in (("bound", None), ("covariant", False), ("contravariant", False), ("infer_variance", False)):
        item = getattr(value, f"__{name}__", absent)
        if item is not absent:
            yield name, item
    if getattr(value, "has_default", bool)():
        yield "default", value.__default__


BY_NAME: Final[Mapping[type, Callable[[Any], Reduction]]] = types.MappingProxyType(
    {typing.NewType: new_type, typing.ParamSpec: parameter, typing.TypeVarTuple: parameter}
)
ALIAS: Final[type | None] = getattr(typing, "TypeAliasType", None) if sys.version_info >= (3, 12) else None
"""The type of what a `type` statement makes, where Python has it."""
