"""Loading: from entry points to a host, with every broken plugin set aside and remembered."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import attrs
import pluggy

from kinetic._version import __version__
from kinetic.host.calls import Calls, Implementation
from kinetic.host.catalog import Catalog, Withheld, withhold
from kinetic.host.collection import COLLECTED, collect_offers, hook_failed
from kinetic.host.description import describe_host, describe_plugin, report
from kinetic.host.discovery import Candidate, contested_names, discover, read_switches, report_unknown
from kinetic.host.facade import Host
from kinetic.host.notify import Observers
from kinetic.host.problem import Origin, Problem
from kinetic.host.validation import (
    Specs,
    arguments_of,
    check_hook_api,
    check_implementation,
    check_module,
    check_specs,
    implementations,
)
from kinetic.log import get_logger
from kinetic_core.plugin import HookspecRegistrar, Logger, PluginInfo, specs

_ADD_HOOKSPECS = "kinetic_add_hookspecs"
_HOST_READY = "kinetic_host_ready"


def load_host(environ: Mapping[str, str], *, log: Logger | None = None) -> Host:
    """Load all installed plugins, and say once what is wrong with those that are broken.

    Never fails for a plugin's sake: a broken one is set aside, and named when something of it is asked for.

    Args:
        environ: The variables that choose plugins: `KINETIC_DISABLE_PLUGINS`, `KINETIC_PLUGIN_AUTOLOAD`,
            `KINETIC_TRACE_PLUGINS`.
        log: Where warnings go; the client's own logger when not given.

    >>> "local" in load_host({}).backends()
    True
    """
    log = log or get_logger(__name__)
    switches = read_switches(environ)
    candidates = discover()
    report_unknown(switches, candidates, log)
    loading = Loading(log=log, trace=switches.trace)
    loading.skip({candidate: name for candidate in candidates if (name := switches.disabled_by(candidate))})
    wanted = [candidate for candidate in candidates if not switches.disabled_by(candidate)]
    contested = contested_names(wanted)
    for candidate, problem in contested.items():
        loading.reject(candidate.origin, (problem,))
    loading.load([candidate for candidate in wanted if candidate not in contested])
    return loading.finish()


@attrs.define(kw_only=True, eq=False, repr=False)
class _Plugin:
    """A plugin whose module was imported."""

    origin: Origin
    built_in: bool
    module: ModuleType
    hooks: Mapping[str, str]
    """Names of its functions, with the hooks they implement."""

    def functions(self, *hooks: str) -> Iterator[Implementation]:
        """Yield its functions for these hooks."""
        for name, hook in self.hooks.items():
            if hook in hooks:
                function = vars(self.module)[name]
                arguments = tuple(inspect.signature(function).parameters)
                yield Implementation(origin=self.origin, hook=hook, function=function, arguments=arguments)


@attrs.define(kw_only=True, eq=False, repr=False)
class Loading:
    """One run of loading; lives no longer than `load_host`."""

    log: Logger = attrs.field(repr=False)
    trace: bool
    _manager: pluggy.PluginManager = attrs.field(init=False)
    _plugins: dict[str, _Plugin] = attrs.field(factory=dict, init=False)
    _infos: list[PluginInfo] = attrs.field(factory=list, init=False)
    _problems: list[Problem] = attrs.field(factory=list, init=False)
    _withheld: list[Withheld] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._manager = pluggy.PluginManager("kinetic")
        self._manager.add_hookspecs(specs)

    def skip(self, disabled: Mapping[Candidate, str]) -> None:
        """Leave plugins out because the user said so; they are not imported."""
        for candidate, variable in disabled.items():
            origin = candidate.origin
            reason = f"plugin {origin.plugin!r} ({origin}) is left out by {variable}; change that variable to use it"
            self._withheld.append(Withheld(origin=origin, reason=reason))
            self._infos.append(describe_plugin(origin, disabled_by=variable))

    def reject(
        self,
        origin: Origin,
        problems: tuple[Problem, ...],
        *,
        hooks: Iterable[str] = (),
        names: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        """Set a plugin aside; it is told now, and again when something of it is asked for."""
        report(problems, self.log)
        self._problems.extend(problems)
        self._withheld.append(withhold(origin, problems, names))
        self._infos.append(describe_plugin(origin, hooks=hooks, problems=problems))

    def load(self, candidates: Iterable[Candidate]) -> None:
        """Import, let plugins define hooks, then validate against all hooks that are defined."""
        imported = [plugin for candidate in candidates if (plugin := self._import(candidate)) is not None]
        ready = [plugin for plugin in imported if self._define_hooks(plugin)]
        known = arguments_of(self._manager)
        for plugin in ready:
            self._register(plugin, known)

    def finish(self) -> Host:
        """Collect what the plugins offer, tell them that all are loaded, and return the host."""
        catalog = Catalog()
        for plugin in tuple(self._plugins.values()):
            offers, problems = collect_offers(plugin.functions(*COLLECTED))
            if problems:
                self._manager.unregister(name=plugin.origin.plugin)
                del self._plugins[plugin.origin.plugin]
                self.reject(plugin.origin, problems, hooks=plugin.hooks.values(), names=offers.names())
            else:
                for item in offers.items:
                    catalog.put(item, plugin.origin)
        contested = catalog.contested()
        report(contested, self.log)
        self._problems.extend(contested)
        return self._host(attrs.evolve(catalog, withheld=tuple(self._withheld)))

    def _import(self, candidate: Candidate) -> _Plugin | None:
        origin = candidate.origin
        try:
            module = candidate.entry_point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's module may do anything
            self.reject(origin, (_import_failed(origin, error),))
            return None
        if not isinstance(module, ModuleType):
            self.reject(origin, (_not_a_module(origin, module),))
            return None
        too_new = check_hook_api(module, origin)
        if too_new:
            self.reject(origin, too_new)
            return None
        return _Plugin(origin=origin, built_in=candidate.built_in, module=module, hooks=implementations(module))

    def _define_hooks(self, plugin: _Plugin) -> bool:
        """Let a plugin define hooks of its own; a fault in the definition rejects the plugin."""
        known = arguments_of(self._manager)
        problems = tuple(
            problem
            for name, hook in plugin.hooks.items()
            if hook == _ADD_HOOKSPECS
            for problem in check_implementation(plugin.module, name, plugin.origin, known)
        )
        if problems:
            self.reject(plugin.origin, problems, hooks=plugin.hooks.values())
            return False
        additions: list[Any] = []
        for function in plugin.functions(_ADD_HOOKSPECS):
            try:
                function({"registrar": HookspecRegistrar(add=additions.append)})
            except Exception as error:  # noqa: BLE001 - a stranger's function may do anything
                self.reject(plugin.origin, (hook_failed(function, error),), hooks=plugin.hooks.values())
                return False
        problems = tuple(
            problem for added in additions for problem in check_specs(added, plugin.origin, arguments_of(self._manager))
        )
        if problems:
            self.reject(plugin.origin, problems, hooks=plugin.hooks.values())
            return False
        for added in additions:
            self._manager.add_hookspecs(added)
        return True

    def _register(self, plugin: _Plugin, known: Specs) -> None:
        problems = check_module(plugin.module, plugin.origin, known)
        twin = self._manager.get_name(plugin.module)
        if twin is not None:
            problems = (*problems, _registered_twice(plugin.origin, twin))
        if not problems:
            self._manager.register(plugin.module, plugin.origin.plugin)
            self._plugins[plugin.origin.plugin] = plugin
            return
        faulty = {problem.hook for problem in problems}
        offers, _ = collect_offers(function for function in plugin.functions(*COLLECTED) if function.hook not in faulty)
        self.reject(plugin.origin, problems, hooks=plugin.hooks.values(), names=offers.names())

    def _host(self, catalog: Catalog) -> Host:
        origins = {name: plugin.origin for name, plugin in self._plugins.items()}
        used = [describe_plugin(plugin.origin, hooks=plugin.hooks.values()) for plugin in self._plugins.values()]
        infos = tuple(sorted([*self._infos, *used], key=lambda info: (info.name, info.distribution)))
        calls = Calls(manager=self._manager, origins=origins, log=self.log, trace=self.trace)
        self._tell_ready(calls, infos)
        return Host(
            calls=calls,
            catalog=catalog,
            observers=Observers(calls=calls, log=self.log),
            built_in=frozenset(name for name, plugin in self._plugins.items() if plugin.built_in),
            infos=infos,
            found_problems=tuple(self._problems),
        )

    def _tell_ready(self, calls: Calls, infos: tuple[PluginInfo, ...]) -> None:
        """Tell each plugin on its own; one that fails here stays in use, for what it offers was found in order."""
        host = describe_host(__version__, infos)
        for function in calls.implementations(_HOST_READY):
            try:
                function({"host": host})
            except Exception as error:  # noqa: BLE001 - a stranger's function may do anything
                problem = hook_failed(function, error)
                report((problem,), self.log)
                self._problems.append(problem)


def _import_failed(origin: Origin, error: BaseException) -> Problem:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    install = f"install what it needs ({missing}), or " if missing else ""
    return Problem(
        code="import_failed",
        origin=origin,
        message=f"importing it failed with {type(error).__name__}: {error}",
        remedy=f"{install}upgrade or uninstall {origin.distribution}, "
        f"or leave it out with KINETIC_DISABLE_PLUGINS={origin.plugin}",
        cause=error,
    )


def _not_a_module(origin: Origin, found: object) -> Problem:
    return Problem(
        code="not_a_module",
        origin=origin,
        message=f"its entry point names an object of type {type(found).__name__}, not a module",
        remedy="let the entry point name the module whose functions are the hooks, without `:`",
    )


def _registered_twice(origin: Origin, twin: str) -> Problem:
    return Problem(
        code="contested_name",
        origin=origin,
        message=f"its module is loaded already, as plugin {twin!r}",
        remedy="keep one of the two entry points",
    )
