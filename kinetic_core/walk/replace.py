"""Replace what is looked for in a call's arguments, and leave everything else as it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kinetic_core.walk.find import refuse
from kinetic_core.walk.rebuild import rebuild
from kinetic_core.walk.survey import survey


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """A call's arguments with the replacements in their places."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    notes: tuple[str, ...] = ()
    """What could not keep its type, one sentence each with its type and position."""


def replace(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    matches: Callable[[Any], bool],
    make: Callable[[Any], Any],
    noun: str = "Data",
) -> Replaced:
    """Rebuild the containers that hold a match; pass all others through as the same object.

    The caller's objects are never changed. What was one object stays one object, and cycles stay cycles.

    Args:
        args: Positional arguments.
        kwargs: Keyword arguments.
        matches: Tells whether a value is replaced; asked before the value is descended into.
        make: Returns the replacement; called once for each distinct object.
        noun: What a match is called in messages.

    Raises:
        PackagingError: As for `find`.

    >>> replace(([1, "x"],), {}, matches=lambda value: type(value) is str, make=str.upper).args
    ([1, 'X'],)
    """
    surveyed = survey(args, kwargs, matches=matches)
    refuse(surveyed, noun)
    if not surveyed.found:
        return Replaced(args=args, kwargs=kwargs)
    replacements = {identity: make(value) for identity, (_, value) in surveyed.found.items()}
    notes: list[str] = []
    for component in surveyed.components:
        notes += rebuild(component, replacements)
    return Replaced(
        args=tuple(replacements.get(id(value), value) for value in args),
        kwargs={name: replacements.get(id(value), value) for name, value in kwargs.items()},
        notes=tuple(notes),
    )
