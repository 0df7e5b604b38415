"""The job on this host: what the phases know, as far as they have come."""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetic_core.wire.plan import Plan
from kinetic_core.wire.removal import remove_tree
from kinetic_runner.arguments import Arguments
from kinetic_runner.environment import WorkingDirLink
from kinetic_runner.fetch import Fetched
from kinetic_runner.filenames import FileNames
from kinetic_runner.formats import PICKLE, Format
from kinetic_runner.invoke import Outcome
from kinetic_runner.log import Log

if TYPE_CHECKING:
    from kinetic_runner.meeting import Meeting


@dataclass(slots=True, kw_only=True)
class Job:
    """One run of the runner. Each phase fills in what the later ones need."""

    arguments: Arguments
    environ: MutableMapping[str, str]
    log: Log
    host_index: int
    scratch: Path
    """Private, removed at the end; not there yet where neither artifacts nor the workspace need it."""
    workspace: Path
    names: FileNames
    context: Fetched | None = None
    layers: Sequence[Fetched] = ()
    """What the context is to be composed of, beside the one that was fetched."""
    payload_file: Fetched | None = None
    format: Format = PICKLE
    """Of the payload."""
    requirements: Fetched | None = None
    plan: Plan = field(default_factory=lambda: Plan(package_root=""))
    payload: dict[str, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None
    args: Sequence[Any] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    link: WorkingDirLink | None = None
    outcome: Outcome = field(default_factory=Outcome)
    meetings: Sequence["Meeting"] = ()
    """In which this host met the others."""
    waiting: str = ""
    """For what, where a phase waits for others than itself."""
    told_skew: set[str] = field(default_factory=set)
    """Which differences of version the log has been told of."""

    def clean(self) -> None:
        """Remove what the runner made for itself."""
        if self.link is not None:
            self.link.remove()
        try:
            remove_tree(self.scratch)
        except OSError as error:
            self.log.caution(f"the private directory {self.scratch} cannot be removed: {error}")


def begin(arguments: Arguments, environ: MutableMapping[str, str], log: Log, *, host_index: int, scratch: Path) -> Job:
    """Return a job that has done nothing yet.

    Args:
        arguments: What to do.
        environ: Of the process.
        log: Told of every phase.
        host_index: This host's.
        scratch: A private directory, which is the job's from now on.
    """
    # Resolved, since a process that runs in it sees itself under that name.
    workspace = Path(arguments.workspace).resolve() if arguments.workspace else scratch / "workspace"
    return Job(
        arguments=arguments,
        environ=environ,
        log=log,
        host_index=host_index,
        scratch=scratch,
        workspace=workspace,
        names=FileNames(package_root="", workspace=workspace),
    )
