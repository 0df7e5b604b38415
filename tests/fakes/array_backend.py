"""A backend that takes arrays and runs nothing: its jobs stand as the test says."""

from collections.abc import Callable, Sequence

import attrs

from kinetic_core.model.job import JobRef, JobSpec, JobState, JobStatus
from tests.fakes.quiet_backend import QuietBackend


@attrs.define
class ArrayOfQuiet(QuietBackend):
    """Keeps each call; `answer` says how a job stands once it was submitted."""

    state: JobState = attrs.field(default=JobState(status=JobStatus.NOT_FOUND))
    answer: Callable[[str], JobState] = attrs.field(default=lambda _: JobState(status=JobStatus.RUNNING))
    calls: list[int] = attrs.field(factory=list)
    most: list[int | None] = attrs.field(factory=list)
    cancelled: list[str] = attrs.field(factory=list)

    def submit_many(self, specs: Sequence[JobSpec], *, max_concurrent: int | None = None) -> Sequence[JobRef]:
        self.calls.append(len(specs))
        self.most.append(max_concurrent)
        return [self.submit(spec) for spec in specs]

    def status(self, ref: JobRef) -> JobState:
        if ref.job_id in self.cancelled:
            return JobState(status=JobStatus.CANCELLED)
        known = any(spec.job_id == ref.job_id for spec in self.submitted)
        return self.answer(ref.job_id) if known else self.state

    def cancel(self, ref: JobRef) -> None:
        self.cancelled.append(ref.job_id)
