"""The plugin of the GKE backend. Importing this module loads no Kubernetes client and no table.

It offers no backend yet: what is here lists accelerators and makes manifests.
"""

from collections.abc import Sequence

from kinetic_core.plugin import AcceleratorInfo, HookspecRegistrar, hookimpl


@hookimpl
def kinetic_add_hookspecs(registrar: HookspecRegistrar) -> None:
    """Let other plugins patch pods."""
    from kinetic_gke import specs

    registrar.add(specs)


@hookimpl
def kinetic_accelerators() -> Sequence[AcceleratorInfo]:
    """List the GPUs and TPU slices of Google Kubernetes Engine."""
    from kinetic_gke.accelerators import listing

    return listing()
