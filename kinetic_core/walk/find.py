"""Find what is looked for in a call's arguments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinetic_core.errors import PackagingError
from kinetic_core.walk.survey import Survey, survey


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that matches, once however often it is passed."""

    position: str
    """Where it was met first, such as `arg 0['files'][2]`."""
    value: Any


def find(
    args: Sequence[Any], kwargs: Mapping[str, Any], *, matches: Callable[[Any], bool], noun: str = "Data"
) -> tuple[Found, ...]:
    """Find every distinct object that matches, in the order of the arguments.

    Only `list`, `tuple`, `dict`, `set`, `frozenset` and their subclasses are walked; attributes are not.

    Args:
        args: Positional arguments.
        kwargs: Keyword arguments.
        matches: Tells whether a value is looked for; asked before the value is descended into.
        noun: What a match is called in messages.

    Raises:
        PackagingError: A match lies in a set or a key, or there is a match and a cycle through a tuple or a
            set; the message names each position.

    >>> [found.position for found in find(([1, "x"],), {"cfg": {"a": "y"}}, matches=lambda value: type(value) is str)]
    ['arg 0[1]', "kwarg 'cfg'['a']"]
    """
    surveyed = survey(args, kwargs, matches=matches)
    refuse(surveyed, noun)
    return tuple(Found(position=position, value=value) for position, value in surveyed.found.values())


def refuse(surveyed: Survey, noun: str) -> None:
    """Raise when something that was found lies where nothing can take its place.

    Raises:
        PackagingError: As for `find`.
    """
    if not surveyed.found:
        return
    reasons = [
        f"{position} is a set that holds a {noun}, and members of sets are not replaced: pass a list instead"
        for position in surveyed.in_sets
    ]
    reasons += [
        f"{position} has a key that is or holds a {noun}, and keys are not replaced: make it a value instead"
        for position in surveyed.in_keys
    ]
    reasons += [
        f"{position} is a tuple or set that holds itself through its items, and cannot be rebuilt around"
        f" the {noun} in this call: make it a list instead"
        for position in surveyed.frozen_cycles
    ]
    if reasons:
        raise PackagingError("\n".join(dict.fromkeys(reasons)))
