"""What plugins offer by name: backends, stores, reference types, serializers."""

import difflib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar, assert_never

import attrs

from kinetic.host.problem import Origin, Problem, explain
from kinetic_core.errors import ConfigError, PluginError
from kinetic_core.plugin import (
    BackendDriver,
    DriverContext,
    ReferenceHandler,
    ReferenceType,
    Serializer,
    StorageDriver,
)

Descriptor = BackendDriver | StorageDriver | ReferenceType | Serializer

T = TypeVar("T")
Driver = TypeVar("Driver", BackendDriver, StorageDriver)

DIALECT: Final = "ignore dialect"
ANY_SCHEME: Final = "*"
_LATER: Final = {"pathways": "backend", "konduktor": DIALECT}
"""Names that the documentation speaks of, and that come with a later release."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Offer(Generic[T]):
    """One descriptor and the plugin that it came from."""

    item: T
    origin: Origin


@attrs.define(kw_only=True, eq=False, repr=False)
class Shelf(Generic[T]):
    """Descriptors of one kind by name. A name offered twice belongs to nobody.

    >>> shelf = Shelf(kind="backend")
    >>> shelf.usable()
    {}
    """

    kind: str
    """What is asked for, as it stands in messages: `backend`, `storage scheme`."""
    _offers: dict[str, list[Offer[T]]] = attrs.field(factory=dict, init=False)

    def put(self, name: str, item: T, origin: Origin) -> None:
        """Offer a descriptor under a name."""
        self._offers.setdefault(name, []).append(Offer(item=item, origin=origin))

    def usable(self) -> dict[str, Offer[T]]:
        """Return what can be used, sorted by name."""
        return {name: offers[0] for name, offers in sorted(self._offers.items()) if len(offers) == 1}

    def contested(self) -> Iterator[Problem]:
        """Yield one problem for each name that more than one descriptor claims."""
        for name, offers in sorted(self._offers.items()):
            if len(offers) > 1:
                yield self._contest(name, offers)

    def _contest(self, name: str, offers: Iterable[Offer[T]]) -> Problem:
        claims = sorted(f"plugin {offer.origin.plugin!r} ({offer.origin})" for offer in offers)
        last = max(offers, key=lambda offer: offer.origin.plugin)
        return Problem(
            code="contested_name",
            origin=last.origin,
            message=f"the {self.kind} {name!r} is claimed by {' and by '.join(claims)}, so neither is used",
            remedy="uninstall one of them, or leave one out with KINETIC_DISABLE_PLUGINS=<plugin>",
        )

    def offers(self) -> Iterator[Offer[T]]:
        """Yield everything offered, also under contested names, sorted by name."""
        for _, offers in sorted(self._offers.items()):
            yield from offers

    def names(self) -> tuple[str, ...]:
        """Return every name offered, also contested ones."""
        return tuple(sorted(self._offers))

    def contest_of(self, name: str) -> Problem | None:
        """Return the problem of a contested name."""
        offers = self._offers.get(name, [])
        return self._contest(name, offers) if len(offers) > 1 else None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Withheld:
    """What a plugin that is not in use would have offered, as far as it can be known."""

    origin: Origin
    reason: str
    """Complete: what happened and what to do."""
    names: frozenset[tuple[str, str]] = frozenset()
    """Pairs of kind and name."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Catalog:
    """Everything that plugins offer by name, and who would have offered more."""

    backends: Shelf[BackendDriver] = attrs.field(factory=lambda: Shelf(kind="backend"))
    stores: Shelf[StorageDriver] = attrs.field(factory=lambda: Shelf(kind="storage driver"))
    schemes: Shelf[StorageDriver] = attrs.field(factory=lambda: Shelf(kind="storage scheme"))
    references: Shelf[ReferenceType] = attrs.field(factory=lambda: Shelf(kind="reference type"))
    referenced: Shelf[ReferenceType] = attrs.field(factory=lambda: Shelf(kind="referenced class"))
    serializers: Shelf[Serializer] = attrs.field(factory=lambda: Shelf(kind="serializer"))
    withheld: tuple[Withheld, ...] = ()

    def put(self, item: Descriptor, origin: Origin) -> None:
        """Put a descriptor under every name by which it is asked for."""
        match item:
            case BackendDriver():
                self.backends.put(item.name, item, origin)
            case StorageDriver():
                self.stores.put(item.name, item, origin)
                for scheme in item.schemes:
                    self.schemes.put(scheme.lower(), item, origin)
            case ReferenceType():
                self.references.put(item.name, item, origin)
                self.referenced.put(f"{item.python_type.__module__}.{item.python_type.__qualname__}", item, origin)
            case Serializer():
                self.serializers.put(item.name, item, origin)
            case _:
                assert_never(item)

    def names(self) -> frozenset[tuple[str, str]]:
        """Return pairs of kind and name of everything that was put."""
        return frozenset((shelf.kind, name) for shelf in self._shelves() for name in shelf.names())

    def contested(self) -> tuple[Problem, ...]:
        """Return one problem for each name that is claimed twice."""
        return tuple(problem for shelf in self._shelves() for problem in shelf.contested())

    def backend(self, name: str) -> Offer[BackendDriver]:
        """Return the driver of a backend.

        Raises:
            ConfigError: No plugin offers one of that name.
            PluginError: A plugin that would offer it is broken or contested, or the name comes with a later release.
        """
        return self._find(self.backends, name)

    def storage(self, scheme: str) -> Offer[StorageDriver]:
        """Return the driver of a URL scheme, else the one that offers to open any; raises as `backend` does."""
        kind = self.schemes.kind
        spoken_for = scheme in self.schemes.names() or any((kind, scheme) in one.names for one in self.withheld)
        anyone = ANY_SCHEME in self.schemes.usable() and not spoken_for
        offer = self._find(self.schemes, ANY_SCHEME if anyone else scheme)
        contest = self.stores.contest_of(offer.item.name)
        if contest is not None:
            raise PluginError(_sentence(contest))
        return offer

    def serializer(self, name: str) -> Offer[Serializer]:
        """Return the format of that name; raises as `backend` does."""
        return self._find(self.serializers, name)

    def reference_types(self) -> tuple[ReferenceType, ...]:
        """Return the types that travel as references, sorted by name.

        One whose name or class two plugins claim stays a reference type, so that its objects are not pickled by
        mistake, but opening it raises the contest.
        """
        types: dict[type, ReferenceType] = {}
        for offer in self.references.offers():
            item = offer.item
            place = f"{item.python_type.__module__}.{item.python_type.__qualname__}"
            contest = self.references.contest_of(item.name) or self.referenced.contest_of(place)
            types[item.python_type] = item if contest is None else attrs.evolve(item, open=_refusal(contest))
        return tuple(types.values())

    def _shelves(self) -> tuple[Shelf[Any], ...]:
        return (self.backends, self.stores, self.schemes, self.references, self.referenced, self.serializers)

    def _find(self, shelf: Shelf[T], name: str) -> Offer[T]:
        usable = shelf.usable()
        if name in usable:
            return usable[name]
        contest = shelf.contest_of(name)
        if contest is not None:
            raise PluginError(_sentence(contest))
        raise self.absence(shelf.kind, name, usable)

    def absence(self, kind: str, name: str, usable: Mapping[str, Offer[Any]]) -> PluginError | ConfigError:
        """Return the error for a name that cannot be used: the fault of its plugin where that is known."""
        offered = [one for one in self.withheld if (kind, name) in one.names]
        later = not offered and _LATER.get(name) == kind
        for withheld in offered or [one for one in self.withheld if one.origin.plugin == name and not later]:
            return PluginError(f"the {kind} {name!r} cannot be used: {withheld.reason}")
        if later:
            return PluginError(
                f"the {kind} {name!r} is not part of this release of kinetic-run; "
                f"name one that is installed: {_listing(usable)}"
            )
        return ConfigError(self._unknown(kind, name, usable))

    def _unknown(self, kind: str, name: str, usable: Mapping[str, Offer[Any]]) -> str:
        near = difflib.get_close_matches(name, usable, n=1)
        question = f"; did you mean {near[0]!r}?" if near else "."
        text = f"there is no {kind} {name!r}{question} Installed: {_listing(usable)}"
        if self.withheld:
            reasons = "\n".join(withheld.reason for withheld in self.withheld)
            text += f"\nThese plugins are not in use, and one of them may offer it:\n{reasons}"
        return text


def require(subject: str, driver: BackendDriver | StorageDriver) -> None:
    """Make sure that what a driver needs can be imported.

    Raises:
        PluginError: A module is missing; the message holds the install command.
    """
    missing = [module for module in driver.requires if not _importable(module)]
    if missing:
        command = _install_command(driver)
        raise PluginError(f"the {subject} needs {', '.join(missing)}, which is not installed; install it: {command}")


def opening_failed(subject: str, offer: Offer[Driver], error: Exception) -> PluginError:
    """Return the error for a driver whose `open` raised."""
    origin = offer.origin
    remedy = f"report it to the author of {origin.distribution}"
    if isinstance(error, ImportError) and offer.item.install_hint:
        remedy = f"install what it needs with: {offer.item.install_hint}"
    return PluginError(
        f"the {subject} of plugin {origin.plugin!r} ({origin}) could not be opened: "
        f"{type(error).__name__}: {error}; {remedy}"
    )


def _refusal(contest: Problem) -> Callable[[DriverContext], ReferenceHandler]:
    def refuse(_: DriverContext) -> ReferenceHandler:
        raise PluginError(_sentence(contest))

    return refuse


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _sentence(problem: Problem) -> str:
    return f"{problem.message}; {problem.remedy}"


def _listing(usable: Mapping[str, Offer[T]]) -> str:
    """List names by where they came from, and apart from them those whose libraries are missing."""
    ready: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    for name, offer in usable.items():
        hint = _hint_when_missing(offer.item)
        places, place = (missing, hint) if hint else (ready, f"from {offer.origin}")
        places.setdefault(place, []).append(name)
    if not usable:
        return (
            "none, not even a built-in one; install kinetic-run (from a checkout: pip install -e .), "
            "or look at KINETIC_DISABLE_PLUGINS"
        )
    return "; ".join(f"{', '.join(names)} ({place})" for places in (ready, missing) for place, names in places.items())


def _hint_when_missing(item: Any) -> str:
    if isinstance(item, BackendDriver | StorageDriver) and not all(map(_importable, item.requires)):
        return f"first: {_install_command(item)}"
    return ""


def _install_command(driver: BackendDriver | StorageDriver) -> str:
    return driver.install_hint or f"pip install {' '.join(driver.requires)}"


def withhold(origin: Origin, problems: tuple[Problem, ...], names: frozenset[tuple[str, str]]) -> Withheld:
    """Remember a rejected plugin by its problems and by what it would have offered."""
    return Withheld(origin=origin, reason=explain(problems), names=names)
