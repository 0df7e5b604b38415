"""The hooks. Each has a section in the documentation and a test."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kinetic_core.findings import Finding
from kinetic_core.model.job import JobEvent, JobRef
from kinetic_core.model.package import Package
from kinetic_core.model.request import RunRequest
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.plugin.backend import BackendDriver
from kinetic_core.plugin.cache import Cache
from kinetic_core.plugin.info import AcceleratorInfo, HookspecRegistrar, HostInfo
from kinetic_core.plugin.markers import hookspec
from kinetic_core.plugin.reference import ReferenceType
from kinetic_core.plugin.serializer import Serializer
from kinetic_core.plugin.storage import StorageDriver


@hookspec(historic=True)
def kinetic_add_hookspecs(registrar: HookspecRegistrar) -> None:
    """Define hooks of the driver's own, named `kinetic_<plugin>_…`, with `registrar.add(module)`."""


@hookspec(historic=True)
def kinetic_host_ready(host: HostInfo) -> None:
    """Learn that all plugins are loaded."""


@hookspec
def kinetic_storage_drivers() -> Sequence[StorageDriver]:
    """Return drivers of stores; collected once, at load."""
    return ()


@hookspec
def kinetic_backend_drivers() -> Sequence[BackendDriver]:
    """Return drivers of backends; collected once, at load."""
    return ()


@hookspec
def kinetic_reference_types() -> Sequence[ReferenceType]:
    """Return types of objects that travel as references; collected once, at load."""
    return ()


@hookspec
def kinetic_serializers() -> Sequence[Serializer]:
    """Return formats that carry a call; collected once, at load."""
    return ()


@hookspec
def kinetic_accelerators() -> Sequence[AcceleratorInfo]:
    """Return what a backend can run on; called when somebody asks for the list."""
    return ()


@hookspec
def kinetic_caches(home: Path) -> Sequence[Cache]:
    """Return what is kept of earlier jobs on this machine; called when somebody looks at it or clears it."""
    return ()


@hookspec(firstresult=True)
def kinetic_select_backend(request: RunRequest) -> str | None:
    """Choose a backend's name for a request that names none; `None` leaves it to the next plugin."""


@hookspec(firstresult=True)
def kinetic_select_storage(request: RunRequest, backend: str) -> str | None:
    """Choose the store's URL for a request that names none; `None` leaves it to the next plugin."""


@hookspec
def kinetic_exclude_rules(root: Path, request: RunRequest) -> Sequence[ExcludeRule]:
    """Keep more out of the archive; called once a packaging, never a file."""
    return ()


@hookspec
def kinetic_plan_entries(root: Path, request: RunRequest) -> Mapping[str, Any]:
    """Return JSON that travels in the plan under `extensions.<plugin>`."""
    return {}


@hookspec
def kinetic_inspect_package(package: Package, request: RunRequest) -> Sequence[Finding]:
    """Look at the finished package; a finding of severity error stops the submission."""
    return ()


@hookspec
def kinetic_job_event(event: JobEvent, job: JobRef) -> None:
    """Observe what happens to a job. A failing observer is logged and harms nothing."""
