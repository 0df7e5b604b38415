"""Collecting descriptors at load, once, and refusing what is none."""

from collections.abc import Iterable
from typing import Any, Final

import attrs

from kinetic.host.calls import Implementation
from kinetic.host.catalog import Catalog, Descriptor
from kinetic.host.problem import Origin, Problem
from kinetic.host.validation import describe
from kinetic_core.plugin import BackendDriver, ReferenceType, Serializer, StorageDriver

_WANTED: Final[dict[str, type[Descriptor]]] = {
    "kinetic_backend_drivers": BackendDriver,
    "kinetic_storage_drivers": StorageDriver,
    "kinetic_reference_types": ReferenceType,
    "kinetic_serializers": Serializer,
}
COLLECTED: Final = tuple(_WANTED)
"""The hooks that are called at load."""
_NOBODY: Final = Origin(plugin="", module="", distribution="", version="")


@attrs.frozen(eq=False, repr=False)
class Offers:
    """The descriptors of one plugin."""

    items: tuple[Descriptor, ...] = ()

    def names(self) -> frozenset[tuple[str, str]]:
        """Return pairs of kind and name under which the descriptors would stand in the catalog."""
        scratch = Catalog()
        for item in self.items:
            scratch.put(item, _NOBODY)
        return scratch.names()


def collect_offers(functions: Iterable[Implementation]) -> tuple[Offers, tuple[Problem, ...]]:
    """Call one plugin's functions; return what they offer, and what is wrong with it."""
    items: list[Descriptor] = []
    problems: list[Problem] = []
    for function in functions:
        try:
            answer = function({})
        except Exception as error:  # noqa: BLE001 - a stranger's function may do anything
            problems.append(hook_failed(function, error))
            continue
        wrong = _wrong(answer, _WANTED[function.hook])
        if wrong:
            problems.append(_wrong_answer(function, wrong))
        else:
            items.extend(answer)
    return Offers(tuple(items)), tuple(problems)


def hook_failed(function: Implementation, error: BaseException) -> Problem:
    """Return the problem of a function that raised while plugins were loaded."""
    return Problem(
        code="hook_failed",
        origin=function.origin,
        hook=function.hook,
        signature=describe(function.function, function.hook),
        message=f"its hook {function.hook} raised {type(error).__name__}: {error}",
        remedy=f"report it to its author, or leave it out with KINETIC_DISABLE_PLUGINS={function.origin.plugin}",
        cause=error,
    )


def _wrong_answer(function: Implementation, wrong: str) -> Problem:
    wanted = _WANTED[function.hook].__name__
    return Problem(
        code="wrong_answer",
        origin=function.origin,
        hook=function.hook,
        signature=describe(function.function, function.hook),
        message=f"its hook {function.hook} returned {wrong}",
        remedy=f"return a list or tuple of {wanted}, empty when there is nothing to offer",
    )


def _wrong(answer: Any, wanted: type[Descriptor]) -> str:
    """Say what is wrong with an answer, or nothing."""
    if not isinstance(answer, list | tuple):
        return "None" if answer is None else f"an object of type {type(answer).__name__}"
    for position, item in enumerate(answer):
        if not isinstance(item, wanted):
            return f"an object of type {type(item).__name__} at position {position}"
    return ""
