"""What the host tells about itself and about plugins."""

from collections.abc import Callable
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class PluginInfo:
    """One plugin, loaded or rejected."""

    name: str
    """The entry point's name."""
    module: str
    distribution: str
    version: str
    hooks: tuple[str, ...] = ()
    problem: str = ""
    """Why it was rejected, with the remedy; empty when it is in use."""
    disabled_by: str = ""
    """The variable by which the user left it out; empty when he did not."""


@attrs.frozen(kw_only=True)
class HostInfo:
    """The host, as a plugin sees it once all plugins are loaded."""

    version: str
    """Of this distribution."""
    hook_api: int
    plugins: tuple[PluginInfo, ...]


@attrs.frozen(kw_only=True)
class HookspecRegistrar:
    """Lets a driver define hooks of its own, named `kinetic_<plugin>_…`."""

    add: Callable[[Any], None]
    """Takes a module or object whose functions are marked with `hookspec`."""
