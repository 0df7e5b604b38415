"""A job: what a backend is asked to run, what it answers, and how it stands."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import attrs

from kinetic_core.model.request import RunOptions
from kinetic_core.wire.names import DEFAULT_FORMATS

BEHIND_OTHERS: Final = "waiting for other jobs of its batch"
"""The reason of a job that waits for nothing else."""


class JobStatus(StrEnum):
    """How a job stands."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    NOT_FOUND = "NOT_FOUND"
    CANCELLED = "CANCELLED"
    PREEMPTED = "PREEMPTED"

    @property
    def is_terminal(self) -> bool:
        """Tell whether the job has ended, or is gone.

        >>> JobStatus.RUNNING.is_terminal, JobStatus.NOT_FOUND.is_terminal
        (False, True)
        """
        return self not in (JobStatus.PENDING, JobStatus.RUNNING)


@attrs.frozen(kw_only=True)
class JobState:
    """A job's status with its reason, as a backend sees it now."""

    status: JobStatus = attrs.field(converter=JobStatus)
    reason: str = ""
    """Why, in a few words for a person: `killed by SIGKILL, possibly out of memory`."""
    exit_code: int | None = None
    failed_host: int | None = None
    """The lowest host that failed by itself, of several; only a backend that shows each host's log says it."""
    also_failed: tuple[int, ...] = ()
    """The other hosts that failed by themselves, lowest first."""


@attrs.frozen(kw_only=True)
class StagedArtifact:
    """One artifact where the pod can fetch it."""

    url: str
    sha256: str
    size_bytes: int
    layers: tuple[str, ...] = ()
    """URLs of what makes the artifact of the object at `url`, in order; then hash and size are of what is made. Only
    contexts have layers, and only where the backend has `Capability.CONTEXT_LAYERS`."""


@attrs.frozen(kw_only=True)
class JobSpec:
    """Everything a backend needs to start one job. Artifacts are staged; nothing is left to choose."""

    job_id: str
    """`job-` and 8 hexadecimal digits."""
    name: str
    """A readable name made of `[A-Za-z0-9_.-]`."""
    options: RunOptions
    context: StagedArtifact
    payload: StagedArtifact
    requirements: StagedArtifact | None = None
    image: str = ""
    """URI of the image that the backend made for the job, where it has `Capability.IMAGES`; else empty."""
    result_url: str
    """Where host 0 writes the result; other hosts write beside it."""
    job_url: str
    """The job's own folder in the store."""
    output_dir: str
    """URL, passed as `KINETIC_OUTPUT_DIR`."""
    volumes: tuple[Mapping[str, Any], ...] = ()
    """Reference dicts with a `mount_path`."""
    secrets: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Values that may stand only in the backend's own secret store."""
    allowed_serialization: tuple[str, ...] = DEFAULT_FORMATS


@attrs.frozen(kw_only=True)
class JobRef:
    """A backend's pointer to a job: flat JSON, so that a handle opens on another machine."""

    backend: str
    job_id: str
    details: Mapping[str, str] = attrs.field(factory=dict)
    """Whatever the backend needs to find the job again; never a credential."""

    def to_json(self) -> dict[str, str]:
        """Return one flat object: `backend`, `job_id` and the details beside them."""
        return {**self.details, "backend": self.backend, "job_id": self.job_id}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "JobRef":
        """Read what `to_json` wrote; keys it does not know are details.

        >>> JobRef.from_json({"backend": "local", "job_id": "job-0a1b2c3d", "pid": "7"}).details
        {'pid': '7'}
        """
        details = {key: str(value) for key, value in raw.items() if key not in ("backend", "job_id")}
        return cls(backend=raw["backend"], job_id=raw["job_id"], details=details)


@attrs.frozen(kw_only=True)
class JobEvent:
    """One change in a job's life."""

    job_id: str
    kind: str
    """snake_case, object then past verb: `job_submitted`, `environment_requested`, `job_started`, `host_started`,
    `host_ended`, `job_retried`, `job_ended`, `log_lost`."""
    at: datetime
    """With time zone."""
    status: JobStatus = attrs.field(converter=JobStatus)
    reason: str = ""
    details: Mapping[str, Any] = attrs.field(factory=dict)
