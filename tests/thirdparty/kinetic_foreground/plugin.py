"""The hooks."""

from kinetic_core.plugin import Backend, BackendDriver, DriverContext, ExcludeRule, hookimpl


@hookimpl
def kinetic_backend_drivers() -> list[BackendDriver]:
    return [BackendDriver(name="foreground", open=_open, remote=False)]


@hookimpl
def kinetic_exclude_rules() -> list[ExcludeRule]:
    return [ExcludeRule(pattern="*.ckpt")]


def _open(context: DriverContext) -> Backend:
    from kinetic_foreground.backend import ForegroundBackend

    return ForegroundBackend(context)
