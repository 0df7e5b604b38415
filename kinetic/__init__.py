"""Ship a Python function, with the code around it, to where it should run, and bring home its value or real error.

Importing this package loads next to nothing: each public name is imported when it is first used.

>>> import kinetic
>>> @kinetic.run(accelerator="cpu", backend="local")
... def add(a: int, b: int) -> int:
...     return a + b
>>> add.local(2, 3)
5
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinetic._version import __version__
    from kinetic.api.callable import RemoteCallable
    from kinetic.api.decorator import run
    from kinetic.api.mapping import map  # noqa: A004  read as kinetic.map
    from kinetic.api.packaging import package
    from kinetic.jobs.attach import attach, list_jobs
    from kinetic.jobs.attachbatch import attach_batch
    from kinetic.jobs.batch import BatchHandle
    from kinetic.jobs.handle import JobHandle
    from kinetic.log import enable_logging
    from kinetic_core.errors import (
        BatchError,
        ConfigError,
        DataNotFoundError,
        JobCancelledError,
        JobFailedError,
        JobNotFoundError,
        KineticError,
        ObjectNotFoundError,
        PackagingError,
        PluginError,
        PreflightError,
        RemoteError,
        ResultTimeoutError,
        ResultUnavailableError,
        SerializationError,
        StorageError,
        SubmissionError,
        UsageError,
    )
    from kinetic_core.findings import Finding, Severity
    from kinetic_core.model.job import JobStatus
    from kinetic_core.model.package import Package
    from kinetic_core.references.data import Data

__all__ = [
    "BatchError",
    "BatchHandle",
    "ConfigError",
    "Data",
    "DataNotFoundError",
    "Finding",
    "JobCancelledError",
    "JobFailedError",
    "JobHandle",
    "JobNotFoundError",
    "JobStatus",
    "KineticError",
    "ObjectNotFoundError",
    "Package",
    "PackagingError",
    "PluginError",
    "PreflightError",
    "RemoteCallable",
    "RemoteError",
    "ResultTimeoutError",
    "ResultUnavailableError",
    "SerializationError",
    "Severity",
    "StorageError",
    "SubmissionError",
    "UsageError",
    "__version__",
    "attach",
    "attach_batch",
    "enable_logging",
    "list_jobs",
    "map",
    "package",
    "run",
]

_HOMES = {
    "BatchHandle": "kinetic.jobs.batch",
    "Data": "kinetic_core.references.data",
    "Finding": "kinetic_core.findings",
    "JobHandle": "kinetic.jobs.handle",
    "JobStatus": "kinetic_core.model.job",
    "Package": "kinetic_core.model.package",
    "RemoteCallable": "kinetic.api.callable",
    "Severity": "kinetic_core.findings",
    "__version__": "kinetic._version",
    "attach": "kinetic.jobs.attach",
    "attach_batch": "kinetic.jobs.attachbatch",
    "enable_logging": "kinetic.log",
    "list_jobs": "kinetic.jobs.attach",
    "map": "kinetic.api.mapping",
    "package": "kinetic.api.packaging",
    "run": "kinetic.api.decorator",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'kinetic' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES.get(name, "kinetic_core.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
