"""Handing jobs to a backend, and finding out what became of them when that fails."""

from collections.abc import Sequence

from kinetic_core.model.job import JobRef, JobSpec
from kinetic_core.plugin import ArrayBackend, Backend


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


def submit_together(backend: ArrayBackend, specs: Sequence[JobSpec], most: int | None) -> list[JobRef | Exception]:
    """Submit many jobs with one call; after a failure, keep those that exist all the same.

    Args:
        backend: Where.
        specs: The jobs.
        most: How many may run at once.

    Returns:
        For each its reference, or why it was not submitted.
    """
    try:
        return list(backend.submit_many(specs, max_concurrent=most))
    except Exception as error:  # noqa: BLE001  a backend may raise anything, and it is told of each job
        return [_find(backend, spec.job_id) or error for spec in specs]


def submit_each(backend: Backend, specs: Sequence[JobSpec]) -> list[JobRef | Exception]:
    """Submit jobs one by one; return for each its reference, or why it was not submitted."""
    return [_submitted(backend, spec) for spec in specs]


def _submitted(backend: Backend, spec: JobSpec) -> JobRef | Exception:
    try:
        return submit_or_find(backend, spec)
    except Exception as error:  # noqa: BLE001  as above
        return error


def _find(backend: Backend, job_id: str) -> JobRef | None:
    try:
        return next((ref for ref in backend.find() if ref.job_id == job_id), None)
    except Exception:  # noqa: BLE001  the first failure is the one to report
        return None
