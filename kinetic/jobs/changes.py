"""What somebody who waits for a job is told: each new status, why it does not run yet, and how to come back."""

from collections.abc import Callable

from kinetic.log import tell
from kinetic_core.model.job import JobEvent, JobState, JobStatus


class Changes:
    """Tells of each change once, however often a job's events begin anew."""

    def __init__(self, on_status: Callable[[JobStatus], None] | None) -> None:
        """Have heard of nothing.

        Args:
            on_status: Told of each new status.
        """
        self._on_status = on_status
        self._heard: set[tuple[str, object]] = set()
        self._status: JobStatus | None = None

    def hear(self, event: JobEvent) -> None:
        """Take in an event, and tell what is new in it."""
        if (event.kind, event.at) in self._heard:
            return
        self._heard.add((event.kind, event.at))
        if event.status is JobStatus.PENDING and event.reason:
            tell_waiting(event.job_id, event.reason)
        if event.status is not self._status:
            self._status = event.status
            if self._on_status is not None:
                self._on_status(event.status)


def tell_waiting(who: str, reason: str) -> None:
    """Tell a person why something does not run yet: no wait is silent.

    Args:
        who: The job or the batch.
        reason: In the backend's words.
    """
    tell("kinetic.jobs", "job_waiting", who=who, message=f"{who} does not run yet: {reason}")


def because(state: JobState) -> str:
    """Return a job's reason in brackets, behind a blank; nothing where there is none.

    >>> because(JobState(status=JobStatus.FAILED, reason="OOMKilled")), because(JobState(status=JobStatus.RUNNING))
    (' (OOMKilled)', '')
    """
    return f" ({state.reason})" if state.reason else ""


def ways_back(job_id: str) -> str:
    """Return how to come back to a job that goes on.

    >>> ways_back("job-0a1b2c3d")
    "attach to it with kinetic.attach('job-0a1b2c3d').result(), cancel it with kinetic.attach('job-0a1b2c3d').cancel()"
    """
    return f"attach to it with kinetic.attach({job_id!r}).result(), cancel it with kinetic.attach({job_id!r}).cancel()"
