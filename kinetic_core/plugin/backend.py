"""Backends: where jobs run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Protocol

import attrs

from kinetic_core.findings import Finding
from kinetic_core.model.job import JobEvent, JobRef, JobSpec, JobState
from kinetic_core.model.package import Package
from kinetic_core.model.request import RunOptions, RunRequest
from kinetic_core.plugin.context import DriverContext
from kinetic_core.plugin.fields import are_texts, is_text, texts


class Capability(StrEnum):
    """What a backend can do beyond running one job."""

    ARRAYS = "arrays"
    """It is an `ArrayBackend`."""
    MOUNT = "mount"
    MULTI_HOST = "multi_host"
    """A job may have several hosts; a `MultiHostBackend` shows the log of each."""
    DEBUG = "debug"
    """It is a `DebugBackend`."""
    FOLLOW_LOGS = "follow_logs"
    SECRETS = "secrets"
    IMAGES = "images"
    """It is an `ImageBackend`."""
    CONTEXT_LAYERS = "context_layers"
    """The pod runs this release's runner, and gets each of `spec.context.layers` as `--context-layer`. A job of any
    other backend has its whole context archive in its own folder."""


class Backend(Protocol):
    """A place to run, opened. `cancel` and `cleanup` succeed when there is nothing left to do."""

    def preflight(self, request: RunRequest) -> Sequence[Finding]:
        """Say what would keep this request from running; nothing has been uploaded yet."""

    def default_storage(self, options: RunOptions) -> str:
        """Return the URL of the store to use when the user named none."""

    def submit(self, spec: JobSpec) -> JobRef:
        """Start the job. Idempotent: the same job id twice is one job."""

    def status(self, ref: JobRef) -> JobState:
        """Return how the job stands now."""

    def events(self, ref: JobRef, *, timeout_s: float | None = None) -> Iterator[JobEvent]:
        """Yield what happened to the job and then what happens, until it has ended or the time is up."""

    def logs(self, ref: JobRef, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
        """Yield pieces of the log as text, undecodable bytes replaced.

        Args:
            ref: The job.
            follow: Go on until the job has ended, each byte once.
            tail: Begin with only so many last lines.
        """

    def cancel(self, ref: JobRef) -> None:
        """End the job and all its processes."""

    def cleanup(self, ref: JobRef) -> None:
        """Remove what the backend itself keeps of the job (never the store's artifacts)."""

    def find(self) -> Iterator[JobRef]:
        """Yield the live jobs of this user; where it can, with the job's folder as the detail `job_url`."""


class ArrayBackend(Backend, Protocol):
    """A backend with the capability `arrays`: it takes many jobs in one call, and lets the surplus wait."""

    def submit_many(self, specs: Sequence[JobSpec], *, max_concurrent: int | None = None) -> Sequence[JobRef]:
        """Start many jobs of one function with one call, and return their references in the same order.

        Idempotent as `submit` is: of jobs that were submitted before, alone or among others, none starts again.

        Args:
            specs: The jobs. They differ in ids, payloads, and the places of results and output only.
            max_concurrent: How many of them may run at once, `None` for as many as there is room for. The others
                are PENDING, and can be cancelled like any.
        """


class MultiHostBackend(Backend, Protocol):
    """A backend with the capability `multi_host` that keeps a log of each host; `logs` is host 0's."""

    def host_logs(
        self, ref: JobRef, *, host: int | None = None, follow: bool = False, tail: int | None = None
    ) -> Iterator[str]:
        """Yield pieces of the log of one host, or of all.

        Args:
            ref: The job.
            host: From 0 on; `None` for whole lines of every host, each behind `[host N]`.
            follow: Go on until the job has ended.
            tail: Begin with only so many last lines of each.

        Raises:
            ConfigError: The job has no such host.
        """


class DebugConnection(Protocol):
    """Bytes to a debugger and back. One thread may receive while another sends."""

    def receive(self) -> bytes:
        """Wait for what comes next; empty when nothing more will."""

    def send(self, data: bytes) -> None:
        """Send all of it.

        Raises:
            OSError: The other side is gone.
        """

    def close(self) -> None:
        """End it, also for the thread that receives; nothing happens the second time."""


class DebugBackend(Backend, Protocol):
    """A backend with the capability `debug`: where `options.debug` is set, the runner lets a debugger listen."""

    def debug_workspace(self, ref: JobRef) -> str:
        """Return the path at which a job that is debugged has its workspace, the same wherever it runs."""

    def debug_connection(self, ref: JobRef) -> DebugConnection | None:
        """Return a connection to the debugger of a job, of several hosts the first; `None` where none listens yet.

        Raises:
            KineticError: None will: the job has ended, or its backend refuses.
        """


class ImageBackend(Backend, Protocol):
    """A backend with the capability `images`: it may make the image that a job runs in."""

    def begin_image(self, options: RunOptions, package: Package) -> Callable[[], str]:
        """Begin to make the image of a package's jobs, in the background: the package is uploaded meanwhile.

        Called when all is checked and nothing is uploaded yet.

        Args:
            options: The jobs'.
            package: What they run; its `dependencies` say what the image must have.

        Returns:
            A function that waits for the image and returns its URI, which becomes `JobSpec.image`, or raises what
            kept it from being made. Empty text where the jobs need none made.
        """


def _capabilities(value: Iterable[Capability]) -> frozenset[Capability]:
    """Make a set; a plain `frozenset` as converter leaves a type checker without the element's type."""
    return frozenset(value)


@attrs.frozen(kw_only=True)
class BackendDriver:
    """Opens a backend. Making one imports nothing heavy; `open` does.

    >>> BackendDriver(name="slurm", open=lambda context: None).name
    'slurm'
    """

    name: str = attrs.field(validator=is_text)
    open: Callable[[DriverContext], Backend] = attrs.field(validator=attrs.validators.is_callable())
    capabilities: frozenset[Capability] = attrs.field(default=frozenset(), converter=_capabilities)
    requires: tuple[str, ...] = attrs.field(default=(), converter=texts, validator=are_texts)
    """Modules that must be importable for `open` to work."""
    install_hint: str = ""
    """The command that installs what is missing."""
    remote: bool = True
    """Dependencies are installed elsewhere, so local paths in the dependency file are errors."""
