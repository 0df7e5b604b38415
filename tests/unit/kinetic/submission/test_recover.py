"""Half-way failures: named by step, and looked into before they are believed."""

from collections.abc import Iterator

import pytest

from kinetic.jobs.starting import submit_or_find
from kinetic.submission.recover import step
from kinetic_core.errors import ConfigError, SubmissionError
from kinetic_core.model.job import JobRef, JobSpec, JobState, JobStatus, StagedArtifact
from kinetic_core.model.request import RunOptions
from tests.fakes.quiet_backend import QuietBackend

RUNNING = JobState(status=JobStatus.RUNNING)


def spec(job_id: str = "job-0a1b2c3d") -> JobSpec:
    artifact = StagedArtifact(url="file:///x", sha256="0" * 64, size_bytes=1)
    return JobSpec(
        job_id=job_id,
        name="train",
        options=RunOptions(),
        context=artifact,
        payload=artifact,
        result_url="file:///r",
        job_url="file:///j",
        output_dir="file:///o",
    )


def test_a_foreign_error_names_the_step_and_is_chained() -> None:
    with (
        pytest.raises(SubmissionError, match="at the step 'stage artifacts': OSError: full") as caught,
        step("stage artifacts"),
    ):
        raise OSError("full")
    assert isinstance(caught.value.__cause__, OSError)


def test_an_error_of_ours_stays_itself_with_the_step_as_a_note() -> None:
    with pytest.raises(ConfigError) as caught, step("preflight"):
        raise ConfigError("no")
    assert caught.value.__notes__ == ["while submitting, at the step 'preflight'"]


def test_an_interrupt_is_passed_on_as_it_is() -> None:
    with pytest.raises(KeyboardInterrupt), step("package"):
        raise KeyboardInterrupt


def test_a_submit_error_with_the_job_existing_after_all_is_a_success() -> None:
    backend = QuietBackend(RUNNING, refusal=TimeoutError("no answer"), keeps_job=True)
    assert submit_or_find(backend, spec()).job_id == "job-0a1b2c3d"


def test_a_submit_error_without_a_job_is_that_error() -> None:
    backend = QuietBackend(RUNNING, refusal=TimeoutError("no answer"))
    with pytest.raises(TimeoutError, match="no answer"):
        submit_or_find(backend, spec())


def test_a_backend_that_cannot_be_asked_hides_no_first_error() -> None:
    class Deaf(QuietBackend):
        def find(self) -> Iterator[JobRef]:
            raise ConnectionError("deaf")

    with pytest.raises(TimeoutError, match="no answer"):
        submit_or_find(Deaf(RUNNING, refusal=TimeoutError("no answer")), spec())
