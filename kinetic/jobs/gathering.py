"""Gathering the values of a batch, and saying what is missing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from kinetic.jobs.handle import JobHandle
from kinetic.jobs.lifecycle import InputState
from kinetic_core.errors import BatchError, JobCancelledError
from kinetic_core.model.job import JobStatus
from kinetic_core.model.threads import Threads

_SIDE_BY_SIDE: Final = 8
_NAMED: Final = 3
"""Failures that a message tells of one by one."""


@attrs.frozen(kw_only=True)
class Gathered:
    """What came of a batch's inputs."""

    group_id: str
    states: Sequence[InputState]
    values: Mapping[int, Any]
    """By index; a value may well be `None`."""
    errors: Mapping[int, Exception]
    """Why there is no value, as far as it was looked at."""
    refusals: Mapping[int, Exception]
    failures: Sequence[JobHandle[Any]]
    completed: Sequence[int]
    lacking: str
    """What is to be said where inputs never reached the store; else empty."""

    @property
    def has_failed(self) -> bool:
        """Tell whether a value is missing."""
        return bool(self.lacking) or len(self.values) < len(self.states)

    def listed(self, *, ordered: bool) -> list[Any]:
        """Return the values, and the exception in the place of each that is missing."""
        if ordered:
            return [self.values.get(index, self.errors.get(index)) for index in range(len(self.states))]
        told = [*self.completed, *(state.index for state in self.states if state.index not in set(self.completed))]
        return [self.values.get(index, self.errors.get(index)) for index in told]

    def error(self, *, ordered: bool) -> BatchError:
        """Return the error that tells of all that is missing."""
        if ordered:
            partial = [self.values.get(index) for index in range(len(self.states))]
        else:
            partial = [self.values[index] for index in self.completed if index in self.values]
        error = BatchError(
            "\n".join(self._lines()),
            group_id=self.group_id,
            failures=self.failures,
            submission_failures=self.refusals,
            partial_results=partial,
        )
        error.__cause__ = next(iter(self.errors.values()), None)
        return error

    def _lines(self) -> Iterator[str]:
        missing = len(self.states) - len(self.values)
        yield f"{self.group_id}: {missing} of {len(self.states)} inputs have no result"
        for index, error in list(self.errors.items())[:_NAMED]:
            first = str(error).partition("\n")[0]
            yield f"input {index}: {type(error).__name__}: {first}"
        if missing > min(_NAMED, len(self.errors)):
            yield "the others are in this error's `failures` and `submission_failures`"
        if self.lacking:
            yield self.lacking
        yield (
            f"all artifacts are kept: kinetic.attach_batch({self.group_id!r}) has them,"
            " results(return_exceptions=True) returns what there is"
        )


def gather(
    states: Sequence[InputState],
    *,
    group_id: str,
    completed: Sequence[int],
    handle: Callable[[InputState], JobHandle[Any]],
    refusals: Mapping[int, Exception],
    lacking: str,
    every_error: bool,
    adopt_thread: Callable[[], None],
) -> Gathered:
    """Fetch the value of each input that has one.

    Args:
        states: How the inputs stand.
        group_id: Of the batch.
        completed: Indices in the order of completion.
        handle: Makes the handle of an input's job.
        refusals: Why inputs were never submitted, by index.
        lacking: What is to be said where inputs never reached the store.
        every_error: Fetch the exception of each failure, rather than of the first few.
        adopt_thread: Called in each thread that fetches.
    """
    failed = [state for state in states if state.has_failed and state.is_submitted]
    looked_at = [state for state in states if state.status is JobStatus.SUCCEEDED and state.refusal is None]
    looked_at += failed if every_error else failed[:_NAMED]
    with Threads(_SIDE_BY_SIDE, initializer=adopt_thread) as pool:
        outcomes = list(pool.map(lambda state: _outcome(handle(state)), looked_at))
    values = {state.index: got[0] for state, got in zip(looked_at, outcomes, strict=True) if isinstance(got, tuple)}
    errors = {state.index: got for state, got in zip(looked_at, outcomes, strict=True) if not isinstance(got, tuple)}
    errors |= refusals
    errors |= {state.index: JobCancelledError(f"input {state.index} was {state.reason}") for state in _dropped(states)}
    return Gathered(
        group_id=group_id,
        states=states,
        values=values,
        errors=dict(sorted(errors.items())),
        refusals=refusals,
        failures=[handle(state) for state in states if state.is_submitted and _lacks_value(state, values)],
        completed=completed,
        lacking=lacking,
    )


def _outcome(job: JobHandle[Any]) -> tuple[Any] | Exception:
    try:
        return (job.result(cleanup=False),)
    except Exception as error:  # noqa: BLE001  the user's function may raise anything
        return error


def _dropped(states: Sequence[InputState]) -> Iterator[InputState]:
    return (state for state in states if state.has_failed and not state.is_submitted)


def _lacks_value(state: InputState, values: Mapping[int, Any]) -> bool:
    return state.is_final and state.refusal is None and state.index not in values
