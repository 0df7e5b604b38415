"""When something fails half-way: name the step, and find out whether the job runs after all."""

from collections.abc import Iterator
from contextlib import contextmanager

from kinetic_core.errors import KineticError, SubmissionError
from kinetic_core.model.job import JobRef, JobSpec
from kinetic_core.plugin import Backend


@contextmanager
def step(name: str) -> Iterator[None]:
    """Name the step in whatever fails within it; an error of ours stays what it is, with a note.

    Raises:
        SubmissionError: A foreign error, chained.
    """
    try:
        yield
    except KineticError as error:
        error.add_note(f"while submitting, at the step {name!r}")
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise SubmissionError(f"the submission failed at the step {name!r}: {text}") from error


def submit_or_find(backend: Backend, spec: JobSpec) -> JobRef:
    """Submit, and after a failure look whether the job exists all the same: then it was submitted.

    Raises:
        Exception: What the backend raised, when it does not know the job.
    """
    try:
        return backend.submit(spec)
    except Exception:
        found = _find(backend, spec.job_id)
        if found is None:
            raise
        return found


def _find(backend: Backend, job_id: str) -> JobRef | None:
    try:
        return next((ref for ref in backend.find() if ref.job_id == job_id), None)
    except Exception:  # noqa: BLE001  the first failure is the one to report
        return None
