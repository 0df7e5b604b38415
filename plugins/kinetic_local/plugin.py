"""The driver of the local backend. Importing this module loads nothing that runs jobs."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kinetic_core.plugin import Backend, BackendDriver, Cache, Capability, DriverContext, Kept, hookimpl

if TYPE_CHECKING:
    from kinetic_local.venvs import Venv


@hookimpl
def kinetic_backend_drivers() -> Sequence[BackendDriver]:
    """Offer the backend `local`."""
    capabilities = (
        Capability.ARRAYS,
        Capability.FOLLOW_LOGS,
        Capability.SECRETS,
        Capability.MOUNT,
        Capability.MULTI_HOST,
        Capability.CONTEXT_LAYERS,
    )
    return (BackendDriver(name="local", open=_open, capabilities=capabilities, remote=False),)


@hookimpl
def kinetic_caches(home: Path) -> Sequence[Cache]:
    """Show the virtual environments of `isolation="venv"`."""
    return (Cache(kind="virtual environment", contents=partial(_venvs, home), clear=partial(_clear_venvs, home)),)


def _venvs(home: Path) -> Sequence[Kept]:
    from kinetic_local.places import Places
    from kinetic_local.venvs import kept_venvs

    return [_kept(venv) for venv in kept_venvs(Places(home=home).environments)]


def _clear_venvs(home: Path) -> Sequence[Kept]:
    from kinetic_local.places import Places
    from kinetic_local.venvs import remove_venvs

    return [_kept(venv) for venv in remove_venvs(Places(home=home).environments)]


def _kept(venv: "Venv") -> Kept:
    name = f"{venv.python}: {venv.requirements or 'nothing'}"
    return Kept(name=name, size_bytes=venv.size_bytes, used_at=venv.used_at_s)


def _open(context: DriverContext) -> Backend:
    from kinetic_local.backend import LocalBackend

    return LocalBackend(context)
