"""What somebody who waits for a job is told meanwhile, and when the wait fails."""

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import attrs
import pytest

from kinetic.jobs.changes import ways_back
from kinetic.jobs.handle import JobHandle
from kinetic.jobs.ledger import JobRecord
from kinetic_core.errors import KineticError, ResultTimeoutError, StorageError
from kinetic_core.model.job import JobEvent, JobRef, JobState, JobStatus
from tests.fakes.quiet_backend import QuietBackend

if TYPE_CHECKING:
    from kinetic.jobs.connection import Connection

REASON = "no node has room for it: 0/3 nodes are available"
WAITS = JobState(status=JobStatus.PENDING, reason=REASON)
AT = datetime(2026, 11, 29, 12, tzinfo=UTC)


@attrs.define
class WaitingBackend(QuietBackend):
    """One whose job waits, and says so each time it is asked, until it is asked in vain."""

    error: Exception | None = None

    def events(self, ref: JobRef, *, timeout_s: float | None = None) -> Iterator[JobEvent]:
        submitted = JobEvent(job_id=ref.job_id, kind="job_submitted", at=AT, status=JobStatus.PENDING)
        yield submitted
        yield attrs.evolve(submitted, kind="job_waiting", reason=REASON)
        if self.error is not None:
            raise self.error


def handle(record: JobRecord, backend: object, storage: object = None) -> JobHandle[Any]:
    host = SimpleNamespace(notify=lambda *_: None, backends=dict, serializers=dict)
    connection = SimpleNamespace(backend=lambda _: backend, storage=lambda _: storage, host=host)
    return JobHandle(record, cast("Connection", connection))


def test_no_wait_is_silent_and_a_timeout_says_why(record: JobRecord, caplog: pytest.LogCaptureFixture) -> None:
    asked = handle(record, WaitingBackend(WAITS))
    caplog.set_level("INFO", "kinetic.jobs")
    with pytest.raises(ResultTimeoutError, match=rf"is still PENDING after 0 s \({REASON}\); it goes on"):
        asked.wait(0)
    (told,) = caplog.messages
    assert told.startswith(f"job_waiting: job-0a1b2c3d does not run yet: {REASON}")


def test_who_follows_the_log_of_a_job_that_waits_is_told_why(
    record: JobRecord, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "kinetic.jobs")
    handle(record, WaitingBackend(WAITS)).logs(follow=True)
    (told,) = caplog.messages
    assert told.startswith(f"job_waiting: job-0a1b2c3d does not run yet: {REASON}")


def test_a_wait_that_fails_names_the_job_and_the_way_back(record: JobRecord) -> None:
    asked = handle(record, WaitingBackend(WAITS, error=KineticError("log in again")))
    with pytest.raises(KineticError, match="log in again") as caught:
        asked.result()
    (note,) = caught.value.__notes__
    assert note == f"while waiting for job-0a1b2c3d (train), which goes on; {ways_back('job-0a1b2c3d')}"


class Away:
    """A store that does not answer."""

    def list(self, prefix: str) -> Iterator[Any]:
        raise StorageError("no answer")


def test_a_result_that_cannot_be_fetched_now_is_said_to_be_there(
    record: JobRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = handle(record, QuietBackend(JobState(status=JobStatus.SUCCEEDED)), Away())
    with monkeypatch.context() as patch:
        patch.setattr(asked, "_reader", lambda: None)
        with pytest.raises(StorageError, match="no answer") as caught:
            asked.result()
    assert caught.value.__notes__ == [
        "job-0a1b2c3d (train) has ended: SUCCEEDED; collect it with kinetic.attach('job-0a1b2c3d').result()"
    ]
