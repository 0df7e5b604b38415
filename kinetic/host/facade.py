"""The host: what the client asks of plugins, one method a hook."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from kinetic.host.calls import Answer, Calls, wrong_answer
from kinetic.host.catalog import DIALECT, Catalog, Driver, Offer, opening_failed, require
from kinetic.host.notify import Observers
from kinetic.host.problem import Problem
from kinetic_core.errors import ConfigError, KineticError, PluginError
from kinetic_core.plugin import (
    AcceleratorInfo,
    Backend,
    BackendDriver,
    Cache,
    DriverContext,
    ExcludeRule,
    Finding,
    JobEvent,
    JobRef,
    Package,
    PluginInfo,
    ReferenceType,
    RunRequest,
    Serializer,
    Storage,
    StorageDriver,
)
from kinetic_core.wire.jsonvalue import json_problem

Item = TypeVar("Item")
Opened = TypeVar("Opened")

_DEFAULTS: Final = "defaults"
"""The plugin whose rules always count: no dialect that anybody asks for."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Host:
    """The plugins in use. Made by `load_host`.

    Every method raises `PluginError` naming the plugin when a plugin's function fails or answers what it may not,
    and lets a plugin's own `KineticError` through.
    """

    calls: Calls = attrs.field(repr=False)
    catalog: Catalog = attrs.field(repr=False)
    observers: Observers = attrs.field(repr=False)
    built_in: frozenset[str]
    infos: tuple[PluginInfo, ...]
    found_problems: tuple[Problem, ...]

    def plugins(self) -> tuple[PluginInfo, ...]:
        """Return every plugin installed: in use, rejected, or left out by the user; sorted by name."""
        return self.infos

    def problems(self) -> tuple[Problem, ...]:
        """Return what is wrong with plugins; empty when all is well."""
        return self.found_problems

    def backends(self) -> Mapping[str, BackendDriver]:
        """Return the backends that can be asked for, sorted by name."""
        return {name: offer.item for name, offer in self.catalog.backends.usable().items()}

    def backend_driver(self, name: str) -> BackendDriver:
        """Return the driver of a backend.

        Raises:
            ConfigError: No plugin offers a backend of that name.
            PluginError: The plugin that would offer it is broken, or two claim the name, or it comes with a
                later release.
        """
        return self.catalog.backend(name).item

    def open_backend(self, name: str, context: DriverContext) -> Backend:
        """Open a backend.

        Raises:
            ConfigError: No plugin offers a backend of that name.
            PluginError: As `backend_driver`; or a library that the driver needs is not installed, and the message
                holds the command; or the driver failed.
        """
        offer = self.catalog.backend(name)
        return _opened(f"backend {name!r}", offer, lambda: offer.item.open(self._context(context)))

    def storage_driver(self, url: str) -> StorageDriver:
        """Return the driver for a store's URL.

        Raises:
            ConfigError: The text is no URL, or no plugin knows its scheme.
            PluginError: The plugin that would know it is broken, or two claim the scheme.
        """
        return self.catalog.storage(_scheme_of(url)).item

    def open_storage(self, url: str, context: DriverContext) -> Storage:
        """Open a store.

        Raises:
            ConfigError: The text is no URL, or no plugin knows its scheme.
            PluginError: As `storage_driver`; or a library that the driver needs is not installed, and the message
                holds the command; or the driver failed.
        """
        scheme = _scheme_of(url)
        offer = self.catalog.storage(scheme)
        # In small letters: drivers, and what they open on a pod, look for their scheme as it is written.
        plain = scheme + url[len(scheme) :]
        return _opened(f"storage {scheme}://", offer, lambda: offer.item.open(plain, self._context(context)))

    def reference_types(self) -> tuple[ReferenceType, ...]:
        """Return the types that travel as references; one that two plugins claim cannot be opened."""
        return self.catalog.reference_types()

    def serializers(self) -> Mapping[str, Serializer]:
        """Return the formats that can be asked for, sorted by name."""
        return {name: offer.item for name, offer in self.catalog.serializers.usable().items()}

    def serializer(self, name: str) -> Serializer:
        """Return the format of that name.

        Raises:
            ConfigError: No plugin offers a format of that name.
            PluginError: The plugin that would offer it is broken, or two claim the name.
        """
        return self.catalog.serializer(name).item

    def accelerators(self) -> tuple[AcceleratorInfo, ...]:
        """Return what the backends can run on, in each plugin's own order."""
        hook = "kinetic_accelerators"
        answers = self.calls.collect(hook)
        return tuple(item for answer in answers for item in _items(answer, hook, AcceleratorInfo))

    def caches(self, home: Path) -> tuple[Cache, ...]:
        """Return what plugins keep of earlier jobs of the user with this home."""
        hook = "kinetic_caches"
        answers = self.calls.collect(hook, home=home)
        return tuple(item for answer in answers for item in _items(answer, hook, Cache))

    def select_backend(self, request: RunRequest) -> str | None:
        """Return the backend that a plugin chooses for a request that names none."""
        return self._select("kinetic_select_backend", request=request)

    def select_storage(self, request: RunRequest, backend: str) -> str | None:
        """Return the store's URL that a plugin chooses for a request that names none."""
        return self._select("kinetic_select_storage", request=request, backend=backend)

    def exclude_rules(self, root: Path, request: RunRequest) -> tuple[ExcludeRule, ...]:
        """Return all plugins' rules, the built-in ones first; each rule's source says which plugin made it.

        Raises:
            ConfigError: `ignore` names a dialect that no plugin is called by.
        """
        hook = "kinetic_exclude_rules"
        self._check_dialects(hook, request.options.ignore)
        answers = self.calls.collect(hook, root=root, request=request)
        return tuple(
            self._signed(rule, answer)
            for answer in sorted(answers, key=lambda answer: answer.origin.plugin not in self.built_in)
            for rule in _items(answer, hook, ExcludeRule)
        )

    def plan_entries(self, root: Path, request: RunRequest) -> dict[str, Any]:
        """Return what plugins add to the plan, by the plugin's name; one that adds nothing is left out."""
        hook = "kinetic_plan_entries"
        entries: dict[str, Any] = {}
        for answer in self.calls.collect(hook, root=root, request=request):
            if not isinstance(answer.value, Mapping):
                raise wrong_answer(answer, hook, "a mapping of JSON values")
            entries.setdefault(answer.origin.plugin, {}).update(_plain(answer, hook))
        return {name: entry for name, entry in entries.items() if entry}

    def inspect_package(self, package: Package, request: RunRequest) -> tuple[Finding, ...]:
        """Return what plugins find in a finished package."""
        hook = "kinetic_inspect_package"
        return tuple(
            finding
            for answer in self.calls.collect(hook, package=package, request=request)
            for finding in _items(answer, hook, Finding)
        )

    def notify(self, event: JobEvent, job: JobRef) -> None:
        """Tell observers what happened to a job; never raises for an observer's sake."""
        self.observers.notify(event, job)

    def collect(self, hook: str, **arguments: Any) -> dict[str, Any]:
        """Call a hook that a driver defined, and return the answers that are not `None` by the plugin's name."""
        answers = self.calls.collect(hook, **arguments)
        return {answer.origin.plugin: answer.value for answer in answers if answer.value is not None}

    def _check_dialects(self, hook: str, wanted: tuple[str, ...]) -> None:
        """Make sure that each ignore dialect is the name of a plugin that makes rules."""
        makers = {
            maker.origin.plugin: maker.origin
            for maker in self.calls.implementations(hook)
            if maker.origin.plugin != _DEFAULTS
        }
        for name in wanted:
            if name not in makers:
                offers = {plugin: Offer(item=None, origin=origin) for plugin, origin in sorted(makers.items())}
                raise self.catalog.absence(DIALECT, name, offers)

    def _context(self, context: DriverContext) -> DriverContext:
        return attrs.evolve(context, collect=self.collect)

    def _select(self, hook: str, **offered: Any) -> str | None:
        answer = self.calls.first(hook, **offered)
        if answer is None:
            return None
        if not isinstance(answer.value, str) or not answer.value:
            raise wrong_answer(answer, hook, "non-empty text or None")
        return answer.value

    def _signed(self, rule: ExcludeRule, answer: Answer) -> ExcludeRule:
        """Sign a rule with its plugin's name; a built-in plugin may sign with a name of the contract instead."""
        plugin = answer.origin.plugin
        if plugin in self.built_in and rule.source == "default":
            return rule
        return attrs.evolve(rule, source=f"plugin:{plugin}")


def _opened(subject: str, offer: Offer[Driver], open_driver: Callable[[], Opened]) -> Opened:
    require(subject, offer.item)
    try:
        return open_driver()
    except KineticError:
        raise
    except Exception as error:
        raise opening_failed(subject, offer, error) from error


def _items(answer: Answer, hook: str, wanted: type[Item]) -> tuple[Item, ...]:
    value = answer.value
    if not isinstance(value, list | tuple) or not all(isinstance(item, wanted) for item in value):
        raise wrong_answer(answer, hook, f"a list or tuple of {wanted.__name__}")
    return tuple(value)


def _plain(answer: Answer, hook: str) -> Any:
    """Return a copy made of plain JSON values, which nobody can change any more."""
    value = dict(answer.value)
    try:
        problem = json_problem(value, "its answer")
        if problem is None:
            return json.loads(json.dumps(value))
    except RecursionError:
        problem = "its answer is nested too deeply"
    raise PluginError(
        f"plugin {answer.origin.plugin!r} ({answer.origin}): the hook {hook} must return JSON, and {problem}"
    )


def _scheme_of(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    if not separator or not scheme:
        raise ConfigError(
            f"the storage {url!r} is no URL; write one such as file:///absolute/path or gs://bucket/prefix"
        )
    return scheme.lower()
