"""The plugin of the GKE backend. Importing this module loads no Kubernetes client and no table."""

from collections.abc import Sequence

from kinetic_core.plugin import (
    AcceleratorInfo,
    Backend,
    BackendDriver,
    Capability,
    DriverContext,
    HookspecRegistrar,
    hookimpl,
)


@hookimpl
def kinetic_backend_drivers() -> Sequence[BackendDriver]:
    """Offer the backend `gke`."""
    capabilities = (
        Capability.ARRAYS,
        Capability.DEBUG,
        Capability.MOUNT,
        Capability.MULTI_HOST,
        Capability.FOLLOW_LOGS,
        Capability.SECRETS,
        Capability.IMAGES,
        Capability.CONTEXT_LAYERS,
    )
    return (
        BackendDriver(
            name="gke",
            open=_open,
            capabilities=capabilities,
            requires=("kubernetes",),
            install_hint="pip install 'kinetic-run[gke]'",
        ),
    )


def _open(context: DriverContext) -> Backend:
    from kinetic_gke.backend import GkeBackend

    return GkeBackend(context)


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
