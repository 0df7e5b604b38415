"""Meeting references while pickling: what a pickler is asked about, and what has to stop it."""

import copyreg
from collections import Counter, OrderedDict, defaultdict, namedtuple
from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

# A pickler writes these without asking anybody, so that none of them can be met.
_UNASKED: Final = (bool, int, float, str, bytes, bytearray, list, tuple, dict, set, frozenset, type(None))
_CONTAINERS: Final = (OrderedDict, Counter, defaultdict, list, tuple, dict, set, frozenset)
# By these pickling learns what a container holds; the walk reads what it really holds.
_TOLD_BY: Final = ("__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__", "__iter__", "items")
_PLAIN_ACCESS: Final[tuple[object, ...]] = tuple(kind.__getattribute__ for kind in (object, *_CONTAINERS))
# All named tuples share this code, by which they tell truly what they hold.
_NAMED_TUPLE: Final = vars(namedtuple("_Template", ()))["__getnewargs__"].__code__  # noqa: PYI024 - no record


class ReferenceMet(Exception):  # noqa: N818 - a signal, not an error: the caller walks the arguments and tries again
    """The call holds an object that travels as a reference, somewhere, or what may hide one."""


class Meeting(Enum):
    """What it means that a pickler meets an object of some type."""

    NEVER = auto()
    """It is no reference and hides none."""
    ALWAYS = auto()
    """It is one, or may hide one."""
    ASK = auto()
    """Each object says itself what it is."""


def can_be_met(references: Iterable[type]) -> bool:
    """Tell whether a pickler is asked about every object that is an instance of these types.

    >>> import pathlib
    >>> can_be_met([pathlib.Path]), can_be_met([str]), can_be_met([Iterable])
    (True, False, False)
    """
    return not any(
        type(kind).__instancecheck__ is not type.__instancecheck__ or any(issubclass(plain, kind) for plain in _UNASKED)
        for kind in references
    )


def meeting_with(kind: type, references: tuple[type, ...]) -> Meeting:
    """Return what it means that a pickler meets an object of a type.

    Args:
        kind: The object's type.
        references: Types whose instances travel as references.

    >>> meeting_with(bool, (int,)), meeting_with(OrderedDict, (int,)), meeting_with(OrderedDict, ())
    (<Meeting.ALWAYS: 2>, <Meeting.NEVER: 1>, <Meeting.NEVER: 1>)
    """
    if not references:
        return Meeting.NEVER
    if issubclass(kind, references) or _hides(kind):
        return Meeting.ALWAYS
    return Meeting.ASK if _claims(kind) else Meeting.NEVER


def _hides(kind: type) -> bool:
    """Tell whether a container may tell pickling of other items than it holds."""
    base = next((base for base in kind.__mro__ if base in _CONTAINERS), None)
    if base is None:
        return False
    return kind in copyreg.dispatch_table or any(
        not _is_same(getattr(kind, name, None), getattr(base, name, None)) for name in _TOLD_BY
    )


def _is_same(method: object, original: object) -> bool:
    return method is original or getattr(method, "__code__", None) is _NAMED_TUPLE


def _claims(kind: type) -> bool:
    """Tell whether an object's own code may answer what its class is, as a proxy's does."""
    access: object = kind.__getattribute__
    return access not in _PLAIN_ACCESS or any("__class__" in vars(base) for base in kind.__mro__[:-1])
