"""Where a job's files lie in the store, putting them there, and taking them away again."""

from collections.abc import Sequence
from typing import Any

import attrs

from kinetic import settings
from kinetic.transfers import transfer
from kinetic_core.model.job import StagedArtifact
from kinetic_core.model.package import Artifact, Package
from kinetic_core.model.request import Surroundings
from kinetic_core.plugin import ReferenceHandler, Storage
from kinetic_core.wire import names


def job_folder(job_id: str, name: str, surroundings: Surroundings, *, shared: bool) -> str:
    """Return the folder of a job in its store.

    Args:
        job_id: `job-` and 8 hexadecimal digits.
        name: The function's readable name.
        surroundings: Whose machine and user this is.
        shared: The store was configured explicitly, so others may use it too: each machine and user
            writes below a folder of its own.

    >>> from pathlib import Path
    >>> here = Surroundings(environ={"USER": "ada"}, home=Path("/h"), cwd=Path("/"), sys_path=())
    >>> job_folder("job-0a1b2c3d", "train", here, shared=False)
    'job-0a1b2c3d'
    >>> job_folder("job-0a1b2c3d", "My.Train", here, shared=True).partition("/")[2]
    'my-train-0a1b2c3d'
    """
    if not shared:
        return job_id
    return f"{settings.store_folder(surroundings)}/{settings.safe_name(name)}-{job_id.removeprefix('job-')}"


@attrs.define(eq=False, repr=False)
class Staging:
    """What a submission has put into the store, so that a failure can take it away again."""

    storage: Storage
    folder: str
    _data: list[tuple[ReferenceHandler, Any]] = attrs.field(factory=list, init=False)
    _started: bool = attrs.field(default=False, init=False)

    def put(self, artifact: Artifact, file_name: str) -> StagedArtifact:
        """Store one artifact in the job's folder."""
        self._started = True
        key = f"{self.folder}/{file_name}"
        with transfer("upload", file_name, self.storage, size_bytes=artifact.size_bytes) as moving:
            moving.put_file(artifact.path, key)
        return StagedArtifact(url=self.storage.url_of(key), sha256=artifact.sha256, size_bytes=artifact.size_bytes)

    def put_data(self, data: Sequence[tuple[ReferenceHandler, Any]]) -> None:
        """Make sure that the content of each object lies in the store."""
        for handler, value in data:
            if handler.stage(value, self.storage):
                self._data.append((handler, value))

    def undo(self) -> None:
        """Remove what this submission put there; what was there before stays."""
        for handler, value in self._data:
            handler.unstage(value, self.storage)
        if self._started:
            self.storage.delete_prefix(self.folder)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class StagedPackage:
    """A package whose artifacts lie where the pod can fetch them."""

    context: StagedArtifact
    payload: StagedArtifact
    requirements: StagedArtifact | None


def stage_package(staging: Staging, package: Package, *, context: StagedArtifact | None = None) -> StagedPackage:
    """Store the artifacts of a package in the job's folder.

    Args:
        staging: Of the job.
        package: What to store.
        context: Where the context lies already, if it does.
    """
    return StagedPackage(
        context=context or staging.put(package.context, names.CONTEXT_FILE),
        payload=staging.put(package.payload, package.payload.path.name),
        requirements=staging.put(package.requirements, names.REQUIREMENTS_FILE) if package.requirements else None,
    )
