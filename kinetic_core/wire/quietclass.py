"""Classes that travel by value, made where they arrive without a word to their bases."""

import sys
import types
from typing import Any


class _SlottedSilent:
    """A first base that keeps the others from hearing of a new subclass."""

    __slots__ = ()

    def __init_subclass__(cls, **_: Any) -> None:
        """Tell nobody."""


class _Silent:
    """The same for classes whose instances have a `__dict__`: bases can be exchanged for such of the same layout."""

    __init_subclass__ = _SlottedSilent.__init_subclass__


def make_leniently(make: Any, metaclass: Any, name: str, bases: tuple[Any, ...], *rest: Any) -> Any:
    """Make a class as cloudpickle does; quietly where that fails, as `__init_subclass__` may ask for keywords.

    Args:
        make: cloudpickle's maker of classes.
        metaclass: Of the class.
        name: Of the class.
        bases: Of the class.
        *rest: What else the maker takes.
    """
    try:
        return make(metaclass, name, bases, *rest)
    except Exception:  # noqa: BLE001 - the user's code: it may ask for anything that is not known here
        return make_quietly(make, metaclass, name, bases, *rest)


def make_quietly(make: Any, metaclass: Any, name: str, bases: tuple[Any, ...], *rest: Any) -> Any:
    """Make a class without telling its bases: no `__init_subclass__` of somebody's own runs.

    A metaclass that asks for keywords of the class is passed over. What all of them did to the class is in the state
    that it gets next. The arguments are those of `make_leniently`.
    """
    try:
        return _untold(make, metaclass, name, bases, *rest)
    except Exception:  # noqa: BLE001 - the same
        return _untold(make, _bare(metaclass), name, bases, *rest)


def _untold(make: Any, constructor: Any, name: str, bases: tuple[Any, ...], *rest: Any) -> Any:
    real_bases = types.resolve_bases(bases)
    if not any(_announces(base) for base in real_bases):
        return make(constructor, name, bases, *rest)
    silent = _Silent if any(base.__dictoffset__ for base in real_bases) else _SlottedSilent
    made = make(constructor, name, (silent, *bases), *rest)
    made.__bases__ = real_bases
    return made


def _bare(metaclass: Any) -> Any:
    """Return a constructor that runs no metaclass but the standard library's."""
    known = next(kind for kind in metaclass.__mro__ if kind.__module__ in sys.stdlib_module_names)

    def construct(name: str, bases: tuple[Any, ...], namespace: dict[str, Any], **_: Any) -> Any:
        new: Any = known.__new__
        return new(metaclass, name, bases, namespace)

    return construct


def _announces(base: type) -> bool:
    """Tell whether somebody's own `__init_subclass__` would hear of a subclass."""
    return any(
        "__init_subclass__" in vars(cls) and cls.__module__ not in sys.stdlib_module_names for cls in base.__mro__
    )
