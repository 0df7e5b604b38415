"""How a job stands, and what has happened to it, as its objects tell."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from kinetic_core.model.job import JobEvent, JobState, JobStatus
from kinetic_gke.diagnosis.ending import failed_state
from kinetic_gke.diagnosis.look import Json, Look, holds_index, worker_status
from kinetic_gke.diagnosis.mark import is_cancelled, mark_of
from kinetic_gke.diagnosis.moment import moment
from kinetic_gke.diagnosis.waiting import waiting_reason


def state_of(look: Look, news: Sequence[Json] = ()) -> JobState:
    """Return how a job stands.

    Only `Complete` and `Failed` are final: what comes before them can stand for seconds while pods still end.

    Args:
        look: At the job.
        news: Events about the Job and its pods, where they are known.
    """
    ended = _ended(look)
    if ended is not None:
        return ended[0]
    if any(worker_status(pod).get("running") or worker_status(pod).get("terminated") for pod in _latest(look)):
        return JobState(status=JobStatus.RUNNING)
    return JobState(status=JobStatus.PENDING, reason=waiting_reason(look, news))


def is_over(look: Look) -> bool:
    """Tell whether the cluster's own word about the job is final, whatever a client has written on it."""
    return _verdict(look) is not None


def history(job_id: str, look: Look, news: Sequence[Json] = ()) -> Iterator[JobEvent]:
    """Yield what happened to a job so far, in order, the same each time it is asked.

    Args:
        job_id: Of the job.
        look: At it.
        news: Events about the Job and its pods, where they are known.
    """
    at = moment(look.job["metadata"].get("creationTimestamp"))
    yield JobEvent(job_id=job_id, kind="job_submitted", at=at, status=JobStatus.PENDING)
    for attempt, pod in enumerate(look.of_host(0), 1):
        state = worker_status(pod)
        started = (state.get("running") or state.get("terminated") or {}).get("startedAt")
        if started:
            at = max(at, moment(started))
            details = {"pod": pod["metadata"]["name"], "attempt": attempt}
            yield JobEvent(job_id=job_id, kind="job_started", at=at, status=JobStatus.RUNNING, details=details)
    ended = _ended(look)
    if ended is not None:
        state_then, ended_at = ended
        yield _event(job_id, "job_ended", max(at, ended_at), state_then)
        return
    now = state_of(look, news)
    if now.status is JobStatus.PENDING and now.reason:
        yield _event(job_id, "job_waiting", at, now)


def _event(job_id: str, kind: str, at: datetime, state: JobState) -> JobEvent:
    details = {} if state.exit_code is None else {"exit_code": state.exit_code}
    return JobEvent(job_id=job_id, kind=kind, at=at, status=state.status, reason=state.reason, details=details)


def _ended(look: Look) -> tuple[JobState, datetime] | None:
    """Return how and when a job ended; a client's mark counts for more than the end that it brought about.

    A job that was cancelled stays so, also where its function came to its end in spite of that; one that was given up
    and comes to life has succeeded.
    """
    found = _verdict(look)
    has_succeeded = found is not None and found[0].status is JobStatus.SUCCEEDED
    if has_succeeded and not is_cancelled(look.job, look.index):
        return found
    mark = mark_of(look.job, look.index)
    if mark is not None:
        return JobState(status=mark.status, reason=mark.reason), mark.at
    return found


def _verdict(look: Look) -> tuple[JobState, datetime] | None:
    complete, failed = look.condition("Complete"), look.condition("Failed")
    if look.index is not None:
        found = _verdict_of_index(look, look.index, failed)
        if found is not None or (complete is None and failed is None):
            return found
    if complete is not None:
        return JobState(status=JobStatus.SUCCEEDED, exit_code=0), moment(complete.get("lastTransitionTime"))
    if failed is not None:
        return failed_state(look, failed), moment(failed.get("lastTransitionTime"))
    return None


def _verdict_of_index(look: Look, index: int, failed: Json | None) -> tuple[JobState, datetime] | None:
    status = look.job.get("status") or {}
    if holds_index(status.get("completedIndexes") or "", index):
        return JobState(status=JobStatus.SUCCEEDED, exit_code=0), _finished(look)
    if holds_index(status.get("failedIndexes") or "", index):
        return failed_state(look, failed or {}), _finished(look)
    return None


def _finished(look: Look) -> datetime:
    """Return when the last of the pods ended; where none is left, when the job was made."""
    times = [moment((worker_status(pod).get("terminated") or {}).get("finishedAt")) for pod in look.pods]
    return max([*times, moment(look.job["metadata"].get("creationTimestamp"))])


def _latest(look: Look) -> Sequence[Json]:
    """Return the pods of the present attempt: those that have not failed."""
    return [pod for pod in look.pods if (pod.get("status") or {}).get("phase") != "Failed"]
