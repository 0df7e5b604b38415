"""The driver of the local backend. Importing this module loads nothing that runs jobs."""

from collections.abc import Sequence

from kinetic_core.plugin import Backend, BackendDriver, Capability, DriverContext, hookimpl


@hookimpl
def kinetic_backend_drivers() -> Sequence[BackendDriver]:
    """Offer the backend `local`."""
    capabilities = (
        Capability.ARRAYS,
        Capability.FOLLOW_LOGS,
        Capability.SECRETS,
        Capability.MOUNT,
        Capability.CONTEXT_LAYERS,
    )
    return (BackendDriver(name="local", open=_open, capabilities=capabilities, remote=False),)


def _open(context: DriverContext) -> Backend:
    from kinetic_local.backend import LocalBackend

    return LocalBackend(context)
