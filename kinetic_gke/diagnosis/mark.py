"""Marks: what a client writes on a Job that it ends, so that every process tells the same story of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import attrs

from kinetic_core.model.job import JobStatus
from kinetic_gke.diagnosis.moment import moment, written
from kinetic_gke.manifest.names import ANNOTATION_ENDED_AS, ANNOTATION_ENDED_AT, ANNOTATION_ENDED_BECAUSE, QUEUE

CANCELLED: Final = "cancelled"
_OF_INDEX: Final = "cancelled.kinetic-run/"


@attrs.frozen(kw_only=True)
class Mark:
    """How a client ended a Job."""

    status: JobStatus
    reason: str
    at: datetime


def mark_of(job: Mapping[str, Any], index: int | None = None) -> Mark | None:
    """Return the mark on a Job, or on one index of it; `None` where no client ended it."""
    written_there = job["metadata"].get("annotations") or {}
    if index is not None and (at := written_there.get(f"{_OF_INDEX}{index}")):
        return Mark(status=JobStatus.CANCELLED, reason=CANCELLED, at=moment(at))
    status = written_there.get(ANNOTATION_ENDED_AS)
    if status not in (JobStatus.CANCELLED, JobStatus.FAILED):
        return None
    return Mark(
        status=JobStatus(status),
        reason=written_there.get(ANNOTATION_ENDED_BECAUSE, ""),
        at=moment(written_there.get(ANNOTATION_ENDED_AT)),
    )


def is_cancelled(job: Mapping[str, Any], index: int | None = None) -> bool:
    """Tell whether a client cancelled a job itself; an index of an array, which may have succeeded before, by itself.

    >>> is_cancelled({"metadata": {}})
    False
    """
    written_there = job["metadata"].get("annotations") or {}
    if index is not None:
        return f"{_OF_INDEX}{index}" in written_there
    return bool(written_there.get(ANNOTATION_ENDED_AS) == JobStatus.CANCELLED)


def ending_patch(mark: Mark, *, is_suspended: bool) -> dict[str, Any]:
    """Return what marks a Job; where it runs, its deadline has passed with that.

    The controller then ends its pods and the Job fails, so that its time to live begins.

    Args:
        mark: How it ends.
        is_suspended: No deadline ends it; `releasing_patch` follows.
    """
    annotations = {
        ANNOTATION_ENDED_AS: str(mark.status),
        ANNOTATION_ENDED_BECAUSE: mark.reason,
        ANNOTATION_ENDED_AT: written(mark.at),
    }
    # Kueue lets go of what has no queue, and that may change only as long as it is suspended.
    labels = {"labels": {QUEUE: None}} if is_suspended else {}
    return {"metadata": {"annotations": annotations, **labels}, "spec": {"activeDeadlineSeconds": 1}}


def index_patch(index: int, at: datetime) -> dict[str, Any]:
    """Return what marks one index of an array as cancelled; marks of others, made at the same time, stay."""
    return {"metadata": {"annotations": {f"{_OF_INDEX}{index}": written(at)}}}


def releasing_patch() -> dict[str, Any]:
    """Return what lets a suspended Job come to its end without a single pod."""
    return {"spec": {"suspend": False, "parallelism": 0}}
