"""The containers that are walked, read through the built-in's own methods.

A subclass may override iteration; what it really holds is what pickle sends, so that is what is read.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Any


class Kind(Enum):
    """The built-in that a container is, or derives from."""

    LIST = auto()
    TUPLE = auto()
    DICT = auto()
    SET = auto()


def kind_of(value: Any) -> Kind | None:
    """Return the kind of a walked container, `None` for anything else. What `__class__` claims does not count.

    >>> from collections import Counter
    >>> kind_of(Counter()), kind_of("text")
    (<Kind.DICT: 3>, None)
    """
    cls = type(value)
    if issubclass(cls, list):
        return Kind.LIST
    if issubclass(cls, dict):
        return Kind.DICT
    if issubclass(cls, tuple):
        return Kind.TUPLE
    return Kind.SET if issubclass(cls, set | frozenset) else None


def sequence_items(value: Any) -> Iterator[Any]:
    """Iterate over what a list or tuple really holds."""
    return list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)


def dict_items(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the keys and values that a dict really holds, in its order."""
    return OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value)


def members(value: Any) -> Iterator[Any]:
    """Iterate over what a set really holds."""
    return set.__iter__(value) if isinstance(value, set) else frozenset.__iter__(value)
