"""All that a plugin author imports.

A plugin is a module named by an entry point in group `kinetic`; its functions marked with `hookimpl`
implement the hooks of `kinetic_core.plugin.specs`.
"""

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.job import JobEvent, JobRef, JobSpec, JobState, JobStatus, StagedArtifact
from kinetic_core.model.package import Artifact, Package
from kinetic_core.model.request import RunOptions, RunRequest, Surroundings
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.call import Call, WrittenPayload
from kinetic_core.packaging.meeting import ReferenceMet
from kinetic_core.packaging.plaincall import plain_payload
from kinetic_core.plugin.backend import (
    ArrayBackend,
    Backend,
    BackendDriver,
    Capability,
    DebugBackend,
    DebugConnection,
    ImageBackend,
    MultiHostBackend,
)
from kinetic_core.plugin.cache import Cache, Kept
from kinetic_core.plugin.context import DriverContext, Logger
from kinetic_core.plugin.info import AcceleratorInfo, HookspecRegistrar, HostInfo, PluginInfo
from kinetic_core.plugin.markers import HOOK_API, hookimpl, hookspec
from kinetic_core.plugin.reference import ReferenceHandler, ReferenceType
from kinetic_core.plugin.serializer import Serializer
from kinetic_core.plugin.storage import BulkStorage, Progress, ReportingStorage, Storage, StorageDriver, StoredObject
from kinetic_core.wire.plain import read_plain_record
from kinetic_core.wire.reference import Reference
from kinetic_core.wire.result import Result

__all__ = [
    "HOOK_API",
    "AcceleratorInfo",
    "ArrayBackend",
    "Artifact",
    "Backend",
    "BackendDriver",
    "BulkStorage",
    "Cache",
    "Call",
    "Capability",
    "DebugBackend",
    "DebugConnection",
    "DriverContext",
    "ExcludeRule",
    "Finding",
    "HookspecRegistrar",
    "HostInfo",
    "ImageBackend",
    "JobEvent",
    "JobRef",
    "JobSpec",
    "JobState",
    "JobStatus",
    "Kept",
    "Logger",
    "MultiHostBackend",
    "Package",
    "PluginInfo",
    "Progress",
    "Reference",
    "ReferenceHandler",
    "ReferenceMet",
    "ReferenceType",
    "ReportingStorage",
    "Result",
    "RunOptions",
    "RunRequest",
    "Serializer",
    "Severity",
    "StagedArtifact",
    "Storage",
    "StorageDriver",
    "StoredObject",
    "Surroundings",
    "WrittenPayload",
    "hookimpl",
    "hookspec",
    "plain_payload",
    "read_plain_record",
]
