"""Places: where the local backend keeps what, and the settings it reads from the client's environment."""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobRef, JobSpec
from kinetic_core.wire.removal import remove_tree

ENV_LIMIT: Final = "KINETIC_LOCAL_JOBS"
FOLDER_PREFIX: Final = "kinetic-"
"""Of the names of private folders: nothing else is ever removed as one."""
_FILE: Final = "file://"


@attrs.frozen(kw_only=True)
class Places:
    """The folders of one user. All are private."""

    home: Path

    @property
    def state(self) -> Path:
        """Return the folder that holds all others."""
        return self.home / ".kinetic" / "local"

    @property
    def queue(self) -> Path:
        """Return the folder of tickets and slots."""
        return self.state / "queue"

    @property
    def live(self) -> Path:
        """Return the folder with one locked file for each living job."""
        return self.state / "live"

    @property
    def arrays(self) -> Path:
        """Return the folder with one locked file for each array that still holds jobs."""
        return self.state / "arrays"

    @property
    def environments(self) -> Path:
        """Return the folder of virtual environments."""
        return self.state / "environments"

    def live_file(self, job_id: str) -> Path:
        """Return the file that the job's supervisor keeps locked while it lives."""
        return self.live / job_id

    def pod(self, job_id: str, job_url: str) -> Path:
        """Return the folder of the job's log and events: in the job's own folder where that is on this machine."""
        return Path(local_path(job_url)) / "pod" if local_path(job_url) else self.state / job_id

    def reference(self, spec: JobSpec) -> JobRef:
        """Return the pointer by which any process of this user finds the job again."""
        details = {"job_url": spec.job_url, "machine": os.uname().nodename}
        return JobRef(backend="local", job_id=spec.job_id, details=details)


def make_private(folder: Path) -> None:
    """Make a folder and the folders above it, readable by this user alone; what exists stays as it is."""
    if not folder.exists():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def job_limit(environ: Mapping[str, str]) -> int:
    """Return how many jobs may run at once.

    Raises:
        ConfigError: `KINETIC_LOCAL_JOBS` is no whole number above 0.

    >>> job_limit({"KINETIC_LOCAL_JOBS": "3"})
    3
    """
    said = environ.get(ENV_LIMIT, "").strip()
    if not said:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not said.isdecimal() or int(said) < 1:
        raise ConfigError(f"{ENV_LIMIT} must be a whole number of 1 or more, got {said!r}")
    return int(said)


def temporary(environ: Mapping[str, str]) -> str:
    """Return the directory where the client keeps temporary files.

    Raises:
        FileNotFoundError: `TMPDIR` names none, and no usual place can be written.
    """
    said = environ.get("TMPDIR", "")
    return said if said and Path(said).is_dir() else tempfile.gettempdir()


def private_name(environ: Mapping[str, str]) -> str:
    """Return a path for private folders that nobody can guess, where the client keeps temporary files.

    Raises:
        FileNotFoundError: There is no such place.
    """
    return f"{temporary(environ)}/{FOLDER_PREFIX}{os.urandom(8).hex()}"


def remove_private(name: str) -> None:
    """Remove the private folders of that name, one an attempt, in the place of a supervisor that cannot any more."""
    folder = Path(name)
    if folder.name.startswith(FOLDER_PREFIX):
        for path in folder.parent.glob(f"{folder.name}-*"):
            with suppress(OSError):
                remove_tree(path)


def root_path(url: str, home: Path) -> str:
    """Return the path of a `file://` store as its owner wrote the URL, and nothing for any other.

    >>> root_path("file://~/.kinetic/store", Path("/home/ann")), root_path("gs://bucket", Path("/home/ann"))
    ('/home/ann/.kinetic/store', '')
    """
    path = local_path(url).removeprefix("localhost")
    if path == "~" or path.startswith("~/"):
        path = f"{home}/{path[2:]}"
    return os.path.normpath(path) if path else ""


def local_path(url: str) -> str:
    """Return the path of a `file://` URL, and nothing for any other."""
    return url.removeprefix(_FILE) if url.startswith(_FILE) else ""
