"""The states of an input, each step by itself."""

import json

import pytest

from kinetic.jobs.lifecycle import DROPPED, InputState, Refusal
from kinetic_core.model.job import JobState, JobStatus

FAILED = JobState(status=JobStatus.FAILED, reason="exit code 1")
STAGED = InputState(index=4, sha256="ab", size_bytes=3)
REFUSED = InputState(index=4, refusal=Refusal(type_name="ValueError", message="no"))


def test_a_staged_input_waits_and_a_refused_one_is_done() -> None:
    assert (STAGED.is_waiting, STAGED.is_in_flight, STAGED.is_final) == (True, False, False)
    assert (REFUSED.is_waiting, REFUSED.is_in_flight, REFUSED.is_final) == (False, False, True)
    assert not REFUSED.has_failed


def test_a_submitted_input_is_in_flight_until_its_job_has_ended() -> None:
    flying = STAGED.submitted({"job_url": "u"})
    assert (flying.is_waiting, flying.is_in_flight, flying.is_final) == (False, True, False)
    running = flying.seen(JobState(status=JobStatus.RUNNING), retries=0)
    assert running.is_in_flight
    done = running.seen(JobState(status=JobStatus.SUCCEEDED), retries=3)
    assert (done.is_final, done.has_failed, done.attempt) == (True, False, 1)


@pytest.mark.parametrize("status", [JobStatus.FAILED, JobStatus.NOT_FOUND, JobStatus.PREEMPTED])
def test_what_failed_waits_again_as_the_next_attempt_while_retries_are_left(status: JobStatus) -> None:
    again = STAGED.submitted({}).seen(JobState(status=status, reason="why"), retries=1)
    assert (again.attempt, again.is_waiting, again.reason) == (2, True, "why")
    ended = again.submitted({}).seen(JobState(status=status), retries=1)
    assert (ended.attempt, ended.is_final, ended.has_failed, ended.status) == (2, True, True, status)


def test_a_cancelled_job_is_never_tried_again() -> None:
    ended = STAGED.submitted({}).seen(JobState(status=JobStatus.CANCELLED), retries=9)
    assert (ended.attempt, ended.is_final, ended.has_failed) == (1, True, True)


def test_a_dropped_input_has_no_job_and_a_dropped_retry_has_that_of_the_attempt_before() -> None:
    dropped = STAGED.dropped()
    assert (dropped.status, dropped.is_submitted, dropped.reason) == (JobStatus.CANCELLED, False, DROPPED)
    retry = STAGED.submitted({"job_url": "first"}).seen(FAILED, retries=1).dropped()
    assert (retry.attempt, retry.is_submitted, retry.status) == (1, True, JobStatus.FAILED)
    assert (retry.details, retry.reason) == ({"job_url": "first"}, "exit code 1")


@pytest.mark.parametrize(
    "state", [STAGED, REFUSED, STAGED.submitted({"job_url": "u"}), STAGED.submitted({}).seen(FAILED, retries=0)]
)
def test_a_state_comes_back_from_its_two_pages(state: InputState) -> None:
    taken, noted = (json.loads(json.dumps(one)) for one in (state.input_json(), state.attempt_json()))
    back = InputState.from_json(taken, noted)
    assert back.is_doubtful is not state.is_submitted
    assert back.input_json() == state.input_json()
    assert back.attempt_json() == state.attempt_json()


def test_a_refusal_that_came_late_is_in_the_note_alone() -> None:
    late = InputState.from_json(STAGED.input_json(), REFUSED.attempt_json())
    assert late.refusal == REFUSED.refusal


def test_what_nobody_noted_is_doubtful_for_another_process_may_have_begun_it() -> None:
    assert InputState.from_json(STAGED.input_json(), None) == InputState(
        index=4, sha256="ab", size_bytes=3, is_doubtful=True
    )
