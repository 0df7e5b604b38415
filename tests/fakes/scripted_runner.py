"""A local backend whose runner is a line of Python: to test supervision without what the runner does."""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kinetic.testing.log import RecordingLog
from kinetic_core.model.job import JobRef, JobSpec, StagedArtifact
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import DriverContext
from kinetic_local.backend import LocalBackend

WAIT_S = 60
LINGER = f"import time; open('../../told/'+__import__('os').environ['KINETIC_JOB_ID'], 'w'); time.sleep({WAIT_S})"


class ScriptedPod:
    """Opens backends, and makes jobs that run scripts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keep everything below the folder."""
        self.folder = folder
        self.first_id = "job-00000001"
        """Of a job that is given none. Tests at once need different ones: who settles a job ends all with its id."""
        self.log = RecordingLog()
        self.temporary = folder / "temporary"
        self.told = folder / "told"
        self.home = folder / "home"
        for made in (self.temporary, self.told, self.home):
            made.mkdir()
        self._scripts: dict[str, list[str]] = {}
        monkeypatch.setattr("kinetic_local.venue.runner_command", self._command)

    def open(self, *, grace_s: float = 5.0, **environ: str) -> LocalBackend:
        """Open a backend for a client with these variables."""
        environ = {"HOME": str(self.home), "TMPDIR": str(self.temporary)} | environ
        return LocalBackend(DriverContext(log=self.log, environ=environ, home=self.home), grace_s=grace_s)

    def job(
        self,
        script: str,
        *,
        job_id: str = "",
        hidden: Mapping[str, str] | None = None,
        store: str = "",
        command: list[str] | None = None,
        **options: Any,
    ) -> JobSpec:
        """Return a job whose runner is this script, in a workspace two levels below `folder`."""
        job_id = job_id or self.first_id
        self._scripts[job_id] = command or [sys.executable, "-S", "-c", script]
        job_url = f"{store or self.store_url}/{job_id}"
        if not store:
            (self.folder / "store" / job_id).mkdir(parents=True, exist_ok=True)
        artifact = StagedArtifact(url=f"{job_url}/any", sha256="0" * 64, size_bytes=1)
        return JobSpec(
            job_id=job_id,
            name="scripted",
            options=RunOptions(backend="local", accelerator="cpu", **options),
            context=artifact,
            payload=artifact,
            result_url=f"{job_url}/result.pkl",
            job_url=job_url,
            output_dir=f"{job_url}/outputs",
            secrets=hidden or {},
        )

    @property
    def store_url(self) -> str:
        """Return the URL of the store that jobs use."""
        return f"file://{self.folder}/store"

    def pod_of(self, spec: JobSpec) -> Path:
        """Return the pod's folder of a job in the store."""
        return Path(spec.job_url.removeprefix("file://")) / "pod"

    def wait_until_running(self, *specs: JobSpec) -> None:
        """Wait until the jobs, which run `LINGER`, have said that they run."""
        wait_until(lambda: all((self.told / spec.job_id).exists() for spec in specs))

    def _command(self, spec: JobSpec, *, bundle: str, python: str = "") -> list[str]:
        return list(self._scripts[spec.job_id])


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, for a long time."""
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s, "it never came true"
        time.sleep(0.005)


def wait_for_end(backend: LocalBackend, ref: JobRef) -> list[str]:
    """Wait for the job's end; return the kinds of its events."""
    kinds = [event.kind for event in backend.events(ref, timeout_s=WAIT_S)]
    assert backend.status(ref).status.is_terminal
    return kinds


def is_running(pid: int) -> bool:
    """Tell whether the process lives and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
