"""Callables: what may be run elsewhere, what it is called, and whether a call fits it."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any, Final

from kinetic_core.errors import UsageError

MAX_NAME_CHARS: Final = 40
# As many wrappers as the interpreter would call through; an object that answers to any attribute has no last one.
_MOST_WRAPPERS: Final = 1000
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def underlying(function: Callable[..., Any]) -> FunctionType | None:
    """Return the plain function that holds the code, or `None` where there is none (a builtin).

    Looks through `functools.partial` chains, `functools.wraps` wrappers, bound methods and callable instances.

    >>> def add(a, b): return a + b
    >>> underlying(functools.partial(add, 1)) is add
    True
    """
    inner: object = function
    for _ in range(_MOST_WRAPPERS):
        if isinstance(inner, functools.partial):
            inner = inner.func
        elif isinstance(inner, MethodType):
            inner = inner.__func__
        elif callable(wrapped := _attribute(inner, "__wrapped__")):
            inner = wrapped
        elif isinstance(inner, FunctionType):
            return inner
        else:
            inner = _attribute(type(inner), "__call__")
            if not isinstance(inner, FunctionType | functools.partial):
                return None
    return None


def safe_name(function: Callable[..., Any]) -> str:
    """Return a readable name made of `[A-Za-z0-9_.-]`, at most 40 characters.

    It is the function's own name, or where it has none (a partial, a callable instance) comes from its repr.

    Raises:
        UsageError: It has no name and none can be set; the message holds the wrapper to write.

    >>> def train(): pass
    >>> safe_name(train), safe_name(lambda: 1)
    ('train', 'lambda')
    """
    name = _attribute(function, "__name__")
    if not isinstance(name, str):
        name = _text(function)
        _check_nameable(function)
    return _UNSAFE.sub("-", name).strip("-.")[:MAX_NAME_CHARS].rstrip("-.") or "function"


def refuse(function: object) -> None:
    """Refuse what cannot be run elsewhere, with advice.

    Raises:
        UsageError: A `classmethod` or `staticmethod` object, something cached by `functools.lru_cache`,
            a class, or an object that cannot be called.

    >>> refuse(len)
    >>> refuse(classmethod(len))
    Traceback (most recent call last):
    kinetic_core.errors.UsageError: kinetic.run cannot take a classmethod object, ...
    """
    if isinstance(function, classmethod | staticmethod):
        kind = type(function).__name__
        raise UsageError(
            f"kinetic.run cannot take a {kind} object, which is not callable by itself;"
            f" apply run below it: @{kind} on the first line, @kinetic.run(...) on the second"
        )
    if isinstance(function, type):
        raise UsageError(
            f"kinetic.run takes a function, not the class {function.__qualname__};"
            f" wrap it: def make(*args, **kwargs): return {function.__name__}(*args, **kwargs)"
        )
    if all(callable(_attribute(function, name)) for name in ("cache_clear", "cache_info")):
        raise UsageError(
            f"kinetic.run cannot take {_text(function)}, which is cached (functools.lru_cache or cache): the cache"
            " lives in this process and the function would run elsewhere; decorate the function that it wraps,"
            " and put the cache, if you need one, on a helper that it calls"
        )
    if not callable(function):
        raise UsageError(f"kinetic.run takes a function, not {_text(function)} of type {type(function).__name__}")


def check_call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Check that the arguments fit the function, before anything is packaged.

    What a `functools.wraps` wrapper itself accepts counts, not what it wraps: it may add arguments of its own.

    Raises:
        UsageError: They do not fit; the message names function and signature.

    >>> check_call(lambda a, b=2: a, (1,), {})
    >>> check_call(lambda a, b=2: a, (), {})
    Traceback (most recent call last):
    kinetic_core.errors.UsageError: <lambda>(a, b=2) cannot be called like this: missing a required argument: 'a'
    """
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return  # a builtin that does not tell its signature
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name = _attribute(function, "__qualname__") or safe_name(function)
        raise UsageError(f"{name}{signature} cannot be called like this: {error}") from None


def expand_partial(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return the same call with the arguments of `functools.partial` chains among the call's own.

    So a `Data` that a partial holds is found where all others are.

    >>> expand_partial(functools.partial(max, 3, key=abs), (-4,), {})[1:]
    ((3, -4), {'key': <built-in function abs>})
    """
    positional, named = tuple(args), dict(kwargs)
    # Exactly partial: a subclass may call in its own way. Placeholders (Python 3.14) have to stay where they are.
    while type(function) is functools.partial and not _has_placeholder(function):
        positional = (*function.args, *positional)
        named = {**function.keywords, **named}
        function = function.func
    return function, positional, named


def _has_placeholder(function: functools.partial[Any]) -> bool:
    placeholder = getattr(functools, "Placeholder", None)
    return placeholder is not None and any(argument is placeholder for argument in function.args)


def _attribute(value: object, name: str) -> object | None:
    try:
        found: object = getattr(value, name, None)
    except Exception:  # noqa: BLE001 - whatever a user's __getattr__ raises, the object then has no such attribute
        return None
    return found


def _text(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a user's __repr__ may raise anything
        return type(value).__name__


def _check_nameable(function: Any) -> None:
    """Try to set a name, as every decorator does, and take it away again."""
    try:
        function.__name__ = "call"
        del function.__name__
    except (AttributeError, TypeError) as error:
        raise UsageError(
            f"kinetic.run cannot name {_text(function)}: it has no __name__ and takes none; wrap it in a function:"
            " def call(*args, **kwargs): return target(*args, **kwargs)"
        ) from error
