"""A backend that has nothing to wait for: `submit` returns when the job has ended."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kinetic_core.plugin import (
    DriverContext,
    Finding,
    JobEvent,
    JobRef,
    JobSpec,
    JobState,
    JobStatus,
    RunOptions,
    RunRequest,
)


class ForegroundBackend:
    def __init__(self, context: DriverContext) -> None:
        self._path = context.environ.get("PATH", "")
        self._home = context.home
        self._jobs = context.home / ".kinetic-foreground"

    def preflight(self, request: RunRequest) -> Sequence[Finding]:
        return ()

    def default_storage(self, options: RunOptions) -> str:
        return (self._home / "foreground-store").as_uri()

    def submit(self, spec: JobSpec) -> JobRef:
        folder = self._jobs / spec.job_id
        ref = JobRef(backend="foreground", job_id=spec.job_id, details={"folder": str(folder)})
        if folder.exists():
            return ref
        folder.mkdir(parents=True)
        with (folder / "log").open("wb") as log:
            ended = subprocess.run(
                self._command(spec),
                env={
                    "PATH": self._path,
                    "HOME": str(self._home),
                    "KINETIC_JOB_ID": spec.job_id,
                    "KINETIC_OUTPUT_DIR": spec.output_dir,
                },
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
        (folder / "exit").write_text(str(ended.returncode))
        return ref

    def status(self, ref: JobRef) -> JobState:
        ended = Path(ref.details["folder"]) / "exit"
        if not ended.exists():
            return JobState(status=JobStatus.NOT_FOUND)
        code = int(ended.read_text())
        return JobState(status=JobStatus.FAILED if code else JobStatus.SUCCEEDED, exit_code=code)

    def events(self, ref: JobRef, *, timeout_s: float | None = None) -> Iterator[JobEvent]:
        ended = Path(ref.details["folder"]) / "exit"
        if ended.exists():
            at = datetime.fromtimestamp(ended.stat().st_mtime, UTC)
            yield JobEvent(job_id=ref.job_id, kind="job_ended", at=at, status=self.status(ref).status)

    def logs(self, ref: JobRef, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
        log = Path(ref.details["folder"]) / "log"
        if log.exists():
            yield "".join(log.read_text(errors="replace").splitlines(keepends=True)[-tail if tail else 0 :])

    def cancel(self, ref: JobRef) -> None:
        """Nothing is left to do: the job has ended."""

    def cleanup(self, ref: JobRef) -> None:
        shutil.rmtree(ref.details["folder"], ignore_errors=True)

    def find(self) -> Iterator[JobRef]:
        return iter(())

    def _command(self, spec: JobSpec) -> list[str]:
        artifacts = {
            "--context": spec.context.url,
            "--context-sha256": spec.context.sha256,
            "--payload": spec.payload.url,
            "--payload-sha256": spec.payload.sha256,
            "--result": spec.result_url,
        }
        return [sys.executable, "-P", "-m", "kinetic_runner", *(part for pair in artifacts.items() for part in pair)]
