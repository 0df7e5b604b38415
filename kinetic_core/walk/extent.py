"""How much there is to walk."""

from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

from kinetic_core.walk.containers import Kind, dict_items, kind_of, members, sequence_items


def exceeds(values: Iterable[Any], most: int) -> bool:
    """Tell whether values and what they contain are more than so many, looking at hardly more than that.

    Args:
        values: What would be walked.
        most: How many values may be walked; what is shared or cyclic counts each time it is met.

    >>> exceeds([[1, 2], {"a": (3,)}], 10), exceeds([[1, 2], {"a": (3,)}], 5), exceeds(["a long text"], 1)
    (False, True, False)
    """
    waiting = list(islice(values, most + 1))
    left = most - len(waiting)
    while waiting and left >= 0:
        value = waiting.pop()
        kind = kind_of(value)
        if kind is not None:
            inner = list(islice(_items(value, kind), left + 1))
            left -= len(inner)
            waiting += inner
    return left < 0


def _items(value: Any, kind: Kind) -> Iterable[Any]:
    if kind is Kind.SET:
        return members(value)
    return chain.from_iterable(dict_items(value)) if kind is Kind.DICT else sequence_items(value)
