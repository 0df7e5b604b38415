"""What a plugin's module must look like; a fault found here is a fault that would otherwise stay silent."""

import difflib
import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import attrs
import pluggy

from kinetic.host.problem import Origin, Problem, ProblemCode
from kinetic_core.plugin import HOOK_API
from kinetic_core.plugin.markers import hookimpl, hookspec

_PREFIX = "kinetic_"

Specs = Mapping[str, tuple[str, ...]]
"""Each hook's name with the arguments that it passes."""


def check_hook_api(module: ModuleType, origin: Origin) -> tuple[Problem, ...]:
    """Refuse a module written for a newer hook interface than this one."""
    wanted = getattr(module, "KINETIC_HOOK_API", HOOK_API)
    if type(wanted) is int and wanted <= HOOK_API:
        return ()
    return (
        Problem(
            code="hook_api_too_new",
            origin=origin,
            message=f"it declares KINETIC_HOOK_API = {wanted!r}, and this kinetic-run offers hook interface {HOOK_API}",
            remedy=f"upgrade kinetic-run, or install an older {origin.distribution}",
        ),
    )


def check_module(module: ModuleType, origin: Origin, specs: Specs) -> tuple[Problem, ...]:
    """Return every fault of the module's hooks, in the order of their names."""
    return tuple(problem for name in sorted(vars(module)) for problem in _check_name(module, name, origin, specs))


def check_implementation(module: ModuleType, name: str, origin: Origin, specs: Specs) -> tuple[Problem, ...]:
    """Return the faults of one function that is known to be marked with `hookimpl`."""
    return tuple(_check_marked(vars(module)[name], name, origin, specs))


def check_specs(added: Any, origin: Origin, specs: Specs) -> tuple[Problem, ...]:
    """Return the faults of hooks that a plugin wants to define; their names must be in the plugin's own room."""
    room = f"{_PREFIX}{origin.plugin.replace('-', '_')}_"
    names = [name for name in dir(added) if _is_spec(inspect.getattr_static(added, name, None))]
    problems = [
        Problem(
            code="unsupported_hook",
            origin=origin,
            hook=name,
            message=f"it defines the hook {name!r}, "
            + ("which exists already" if name in specs else f"outside its own names, {room}…"),
            remedy=f"rename the hook to {room}{name.removeprefix(_PREFIX)}",
        )
        for name in names
        if name in specs or not name.startswith(room)
    ]
    if not names:
        problems.append(
            Problem(
                code="unsupported_hook",
                origin=origin,
                hook="kinetic_add_hookspecs",
                message=f"it adds an object of type {type(added).__name__} in which no function is marked as a spec",
                remedy="mark the functions with `@hookspec` of kinetic_core.plugin.markers",
            )
        )
    return tuple(problems)


def implementations(module: ModuleType) -> dict[str, str]:
    """Map the names of the functions that the module marks with `hookimpl` to the hooks they implement."""
    found = {}
    for name, value in vars(module).items():
        options = _implementation(value)
        if options is not None:
            found[name] = options.get("specname") or name
    return found


def describe(function: Any, name: str) -> str:
    """Return a function's signature without annotations or values of defaults.

    >>> describe(lambda root, request=None, *rest: (), "kinetic_exclude_rules")
    'kinetic_exclude_rules(root, request=…, *rest)'
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return f"{name}(…)"
    return f"{name}({', '.join(map(_describe_parameter, parameters))})"


def _describe_parameter(parameter: inspect.Parameter) -> str:
    stars = "*" * (parameter.kind is parameter.VAR_POSITIONAL) + "**" * (parameter.kind is parameter.VAR_KEYWORD)
    default = "" if parameter.default is inspect.Parameter.empty else "=…"
    return f"{stars}{parameter.name}{default}"


def _implementation(value: Any) -> dict[str, Any] | None:
    """Return the options of a marked function.

    Read from the function's own attributes: an object whose `__getattr__` answers everything is no hook.
    """
    options = getattr(value, "__dict__", {}).get(f"{hookimpl.project_name}_impl")
    return options if isinstance(options, dict) else None


def _is_spec(value: Any) -> bool:
    return f"{hookspec.project_name}_spec" in getattr(value, "__dict__", {})


def _check_name(module: ModuleType, name: str, origin: Origin, specs: Specs) -> Iterator[Problem]:
    value = vars(module)[name]
    if _implementation(value) is not None:
        yield from _check_marked(value, name, origin, specs)
    elif name.startswith(_PREFIX) and _could_be_a_hook(value):
        suspect = _Suspect(origin=origin, function=value, hook=name)
        yield suspect.fault(
            "unmarked_hook",
            f"the function {suspect.signature} is not marked, so it would never be called",
            f"mark it with `@hookimpl` of kinetic_core.plugin{_did_you_mean(name, specs)}; "
            f"if it is no hook, give it a name that does not begin with {_PREFIX!r}",
        )


def _could_be_a_hook(value: Any) -> bool:
    return callable(value) and not inspect.isclass(value) and not _is_spec(value)


def _check_marked(function: Any, name: str, origin: Origin, specs: Specs) -> Iterator[Problem]:
    options = _implementation(function) or {}
    suspect = _Suspect(origin=origin, function=function, hook=options.get("specname") or name)
    if suspect.hook not in specs:
        if not options.get("optionalhook"):
            yield suspect.fault(
                "unknown_hook",
                f"there is no hook {suspect.hook!r}{_did_you_mean(suspect.hook, specs)}",
                "correct the name; where another plugin defines the hook, mark with `@hookimpl(optionalhook=True)`",
            )
        return
    unsupported = _unsupported(function, options)
    if unsupported:
        what, remedy = unsupported
        yield suspect.fault("unsupported_hook", f"{suspect.signature} is {what}", remedy)
        return
    yield from _check_arguments(suspect, specs[suspect.hook])


def _unsupported(function: Any, options: Mapping[str, Any]) -> tuple[str, str] | None:
    if not inspect.isfunction(function):
        return f"an object of type {type(function).__name__}", "mark an ordinary function: pluggy calls no other"
    if options.get("wrapper") or options.get("hookwrapper"):
        return "a wrapper", "return only what this plugin adds: no plugin changes what others answer"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "asynchronous, and nobody awaits a hook", "write `def`, not `async def`"
    if inspect.isgeneratorfunction(function):
        return "a generator", "return a list or a tuple, rather than yield"
    return None


def _check_arguments(suspect: "_Suspect", offered: tuple[str, ...]) -> Iterator[Problem]:
    for parameter in inspect.signature(suspect.function).parameters.values():
        ordinary = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if not ordinary or parameter.name not in offered:
            near = difflib.get_close_matches(parameter.name, offered, n=1)
            question = f"; did you mean {near[0]!r}?" if near and ordinary else ""
            yield suspect.fault(
                "unknown_argument",
                f"{suspect.signature} takes {_describe_parameter(parameter)!r}, "
                f"which the hook does not pass that way{question}",
                f"take what you need of these as ordinary parameters: {', '.join(offered) or 'none'}",
            )
        elif parameter.default is not parameter.empty:
            # pluggy up to 1.6 never passes such an argument, 1.7 does: the same plugin would do two things.
            yield suspect.fault(
                "defaulted_argument",
                f"{suspect.signature} gives the argument {parameter.name!r} a default",
                "drop the default: the hook always passes the argument",
            )


def _did_you_mean(name: str, specs: Specs) -> str:
    near = [] if name in specs else difflib.get_close_matches(name, specs, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class _Suspect:
    """A function that may be at fault."""

    origin: Origin
    function: Any
    hook: str

    @property
    def signature(self) -> str:
        return describe(self.function, self.hook)

    def fault(self, code: ProblemCode, message: str, remedy: str) -> Problem:
        return Problem(
            code=code, origin=self.origin, hook=self.hook, signature=self.signature, message=message, remedy=remedy
        )


def arguments_of(manager: pluggy.PluginManager) -> Specs:
    """Return the hooks that the manager has a spec for, with the arguments that each passes."""
    return {
        name: tuple(caller.spec.argnames)
        for name, caller in sorted(vars(manager.hook).items())
        if isinstance(caller, pluggy.HookCaller) and caller.spec is not None
    }
