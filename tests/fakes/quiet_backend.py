"""A backend that runs nothing: it says of a job what the test told it to say."""

from collections.abc import Iterator, Sequence

import attrs

from kinetic_core.findings import Finding
from kinetic_core.model.job import JobEvent, JobRef, JobSpec, JobState
from kinetic_core.model.request import RunOptions, RunRequest


@attrs.define
class QuietBackend:
    """Keeps what it was asked; a `refusal` is raised at submit."""

    state: JobState
    log: str = ""
    refusal: Exception | None = None
    keeps_job: bool = False
    submitted: list[JobSpec] = attrs.field(factory=list)

    def preflight(self, request: RunRequest) -> Sequence[Finding]:
        return ()

    def default_storage(self, options: RunOptions) -> str:
        return "memory://quiet"

    def submit(self, spec: JobSpec) -> JobRef:
        if self.refusal is None or self.keeps_job:
            self.submitted.append(spec)
        if self.refusal is not None:
            raise self.refusal
        return self._ref(spec)

    def status(self, ref: JobRef) -> JobState:
        return self.state

    def events(self, ref: JobRef, *, timeout_s: float | None = None) -> Iterator[JobEvent]:
        return iter(())

    def logs(self, ref: JobRef, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
        lines = self.log.splitlines(keepends=True)
        yield "".join(lines if tail is None else lines[-tail:])

    def host_logs(
        self, ref: JobRef, *, host: int | None = None, follow: bool = False, tail: int | None = None
    ) -> Iterator[str]:
        yield f"of host {host}\n"

    def cancel(self, ref: JobRef) -> None:
        """Nothing runs."""

    def cleanup(self, ref: JobRef) -> None:
        """Nothing is kept."""

    def find(self) -> Iterator[JobRef]:
        return iter([self._ref(spec) for spec in self.submitted])

    def _ref(self, spec: JobSpec) -> JobRef:
        return JobRef(backend="quiet", job_id=spec.job_id, details={"job_url": spec.job_url})
