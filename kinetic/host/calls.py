"""Calling hooks, one plugin at a time, so that every answer and every failure has a name."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pluggy

from kinetic.host.problem import Origin
from kinetic_core.errors import KineticError, PluginError
from kinetic_core.plugin import Logger


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Answer:
    """What one plugin answered."""

    origin: Origin
    value: Any


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Implementation:
    """One plugin's function for one hook, ready to be called."""

    origin: Origin
    hook: str
    function: Any
    arguments: tuple[str, ...]

    def __call__(self, offered: Mapping[str, Any]) -> Any:
        """Call the function with those of the offered arguments that it takes."""
        return self.function(*(offered[name] for name in self.arguments))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Calls:
    """Calls hooks of all plugins in use."""

    manager: pluggy.PluginManager
    origins: Mapping[str, Origin]
    """By the plugin's name."""
    log: Logger = attrs.field(repr=False)
    trace: bool = False

    def implementations(self, hook: str) -> Iterator[Implementation]:
        """Yield the functions for a hook in the order in which pluggy calls them."""
        caller = getattr(self.manager.hook, hook, None)
        for found in reversed(caller.get_hookimpls() if caller is not None else ()):
            yield Implementation(
                origin=self.origins[found.plugin_name],
                hook=hook,
                function=found.function,
                arguments=tuple(found.argnames),
            )

    def collect(self, hook: str, **offered: Any) -> Iterator[Answer]:
        """Yield each plugin's answer, in the order of the plugins' names.

        Raises:
            PluginError: A plugin's function raised something that is no `KineticError` of its own.
        """
        for implementation in sorted(self.implementations(hook), key=lambda found: found.origin.plugin):
            yield Answer(origin=implementation.origin, value=self.call(implementation, offered))

    def first(self, hook: str, **offered: Any) -> Answer | None:
        """Return the first answer that is not `None`.

        Raises:
            PluginError: A plugin's function raised something that is no `KineticError` of its own.
        """
        for implementation in self.implementations(hook):
            value = self.call(implementation, offered)
            if value is not None:
                return Answer(origin=implementation.origin, value=value)
        return None

    def call(self, implementation: Implementation, offered: Mapping[str, Any]) -> Any:
        """Call one plugin's function; what it raises names the plugin."""
        try:
            value = implementation(offered)
        except KineticError:
            raise
        except Exception as error:
            raise PluginError(_failed(implementation, error)) from error
        if self.trace:
            origin = implementation.origin
            self.log.info("hook_called", hook=implementation.hook, plugin=origin.plugin, answer=_outline(value))
        return value


def wrong_answer(answer: Answer, hook: str, wanted: str) -> PluginError:
    """Return the error for an answer of a wrong type; it names plugin, hook and what was wanted."""
    return PluginError(
        f"plugin {answer.origin.plugin!r} ({answer.origin}): the hook {hook} must return {wanted}, "
        f"and it returned {_outline(answer.value)}; correct it, "
        f"or leave the plugin out with KINETIC_DISABLE_PLUGINS={answer.origin.plugin}"
    )


def _failed(implementation: Implementation, error: Exception) -> str:
    origin = implementation.origin
    return (
        f"plugin {origin.plugin!r} ({origin}): the hook {implementation.hook} raised {type(error).__name__}: {error}; "
        f"report it to its author, or leave the plugin out with KINETIC_DISABLE_PLUGINS={origin.plugin}"
    )


def _outline(value: Any) -> str:
    """Describe an answer without showing what is in it: it may hold a secret."""
    if value is None:
        return "None"
    size = f" of {len(value)}" if isinstance(value, list | tuple | dict | set | frozenset) else ""
    return f"{type(value).__name__}{size}"
