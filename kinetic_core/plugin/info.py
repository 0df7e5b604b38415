"""What the host tells about itself and about plugins."""

from collections.abc import Callable
from typing import Any, Literal

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
class AcceleratorInfo:
    """One accelerator that a backend can run on, as `kinetic accelerators` lists it."""

    backend: str
    kind: Literal["gpu", "tpu"]
    name: str
    """As `accelerator=` takes it: `l4x2`, `v5litepod-16`."""
    count: int
    """GPUs or chips in all."""
    topology: str = ""
    """Of TPU chips: `4x4`."""
    machine_type: str = ""
    hosts: int = 1


@attrs.frozen(kw_only=True)
class HookspecRegistrar:
    """Lets a driver define hooks of its own, named `kinetic_<plugin>_…`."""

    add: Callable[[Any], None]
    """Takes a module or object whose functions are marked with `hookspec`."""
