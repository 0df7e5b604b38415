"""Where a job's files lie in the store, putting them there, and taking them away again."""

import getpass
import hashlib
import platform
import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import attrs

from kinetic_core.model.job import StagedArtifact
from kinetic_core.model.package import Artifact, Package
from kinetic_core.plugin import Storage
from kinetic_core.wire import names

_MACHINE_ID: Final = Path("/etc/machine-id")


def job_folder(job_id: str, name: str, *, shared: bool) -> str:
    """Return the folder of a job in its store.

    Args:
        job_id: `job-` and 8 hexadecimal digits.
        name: The function's readable name.
        shared: The store was configured explicitly, so others may use it too: each machine and user
            writes below a folder of its own.

    >>> job_folder("job-0a1b2c3d", "train", shared=False)
    'job-0a1b2c3d'
    >>> job_folder("job-0a1b2c3d", "My.Train", shared=True).partition("/")[2]
    'my-train-0a1b2c3d'
    """
    if not shared:
        return job_id
    return f"{owner_folder()}/{_safe(name)}-{job_id.removeprefix('job-')}"


def owner_folder() -> str:
    """Return `<user>-<8 hex of a stable machine and user hash>`, the folder of this machine and user."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container whose user has no name
        user = "user"
    try:
        machine = _MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        machine = platform.node()
    return f"{_safe(user)}-{hashlib.sha256(f'{machine}/{user}'.encode()).hexdigest()[:8]}"


def _safe(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "job"


@attrs.define
class Staging:
    """What a submission has put into the store, so that a failure can take it away again."""

    storage: Storage
    folder: str
    started: bool = False

    def put(self, artifact: Artifact, file_name: str) -> StagedArtifact:
        """Store one artifact in the job's folder."""
        self.started = True
        key = f"{self.folder}/{file_name}"
        self.storage.put_file(artifact.path, key)
        return StagedArtifact(url=self.storage.url_of(key), sha256=artifact.sha256, size_bytes=artifact.size_bytes)

    def undo(self) -> None:
        """Remove the job's folder, when anything was put there."""
        if self.started:
            self.storage.delete_prefix(self.folder)


@attrs.frozen(kw_only=True)
class StagedPackage:
    """A package whose artifacts lie where the pod can fetch them."""

    context: StagedArtifact
    payload: StagedArtifact
    requirements: StagedArtifact | None


def stage_package(staging: Staging, package: Package) -> StagedPackage:
    """Store the artifacts of a package in the job's folder."""
    return StagedPackage(
        context=staging.put(package.context, names.CONTEXT_FILE),
        payload=staging.put(package.payload, package.payload.path.name),
        requirements=staging.put(package.requirements, names.REQUIREMENTS_FILE) if package.requirements else None,
    )


def is_same_store(url: str, other: str) -> bool:
    """Tell whether two URLs name one store, however they are spelt.

    >>> is_same_store("file:///s/", "file:///s")
    True
    """
    return unquote(url).rstrip("/") == unquote(other).rstrip("/")
