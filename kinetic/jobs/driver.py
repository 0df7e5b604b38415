"""Driving a batch: look how its jobs stand, start what there is room for, note how far each input is."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from kinetic.jobs.changes import tell_waiting
from kinetic.jobs.ledger import JobRecord, is_collected, record_job
from kinetic.jobs.lifecycle import InputState, Refusal
from kinetic.jobs.manifest import PAGE, Manifest
from kinetic.jobs.starting import submit_each, submit_together
from kinetic_core.model.job import BEHIND_OTHERS, JobRef, JobState, JobStatus
from kinetic_core.model.threads import Threads
from kinetic_core.plugin import Backend

CANCELLED: Final = "cancelled"
FAILED: Final = "failed"
_SIDE_BY_SIDE: Final = 16
_MOMENT_S: Final = 3.0


class Driver:
    """One process's view of a batch, and its hand in it. One thread at a time calls `step`; any may read."""

    def __init__(
        self,
        manifest: Manifest,
        backend: Backend,
        *,
        arrays: bool = False,
        secrets: Callable[[], Mapping[str, str]],
        has_inputs: bool = False,
    ) -> None:
        """Begin with what the manifest says.

        Args:
            manifest: Of the batch.
            backend: Runs its jobs.
            arrays: It is an `ArrayBackend`: everything is handed over at once, and waits there; but where the first
                failure is to stop all, only what may run.
            secrets: Reads the values of the secrets that its jobs need, when one is to be started.
            has_inputs: This process takes the inputs: more come through `add`, until `end`.
        """
        self.manifest = manifest
        self.record = manifest.record
        self.errors: dict[int, Exception] = {}
        """Why inputs were refused, as it was raised in this process."""
        self.states: list[InputState] = []
        self.completed: list[int] = []
        """The inputs whose last job has ended, in that order as far as this process saw it."""
        self.count: int | None = None
        """How many inputs there are, once that is known."""
        self.stop_reason: str | None = None
        self._secrets = secrets
        self._has_inputs = has_inputs
        self._dirty: set[int] = set()
        self._told_to_end: set[str] = set()
        self._reasons: dict[str, float] = {}
        """Why nothing runs yet, and when that was seen first."""
        self._told_reasons: set[str] = set()
        self._backend: Any = backend
        self._arrays = arrays
        if not has_inputs:
            self._reload()

    @property
    def is_settled(self) -> bool:
        """Tell whether nothing more will happen, as far as this process can see."""
        # A stopped batch waits for no input: their iterable may never end.
        more_come = self._has_inputs and self.stop_reason is None
        return not more_come and all(state.is_final for state in tuple(self.states))

    @property
    def has_failed(self) -> bool:
        """Tell whether an input has failed for good, or could not be submitted."""
        return any(state.refusal is not None or state.has_failed for state in tuple(self.states))

    def room(self) -> int:
        """Return how many more inputs may be taken from an iterable that is consumed lazily."""
        if self.stop_reason is not None:
            return 0
        most = self.record.limits.max_concurrent
        return PAGE if most is None else most - sum(not state.is_final for state in tuple(self.states))

    def add(self, states: Iterable[InputState]) -> None:
        """Take inputs that were staged."""
        stopped = self.stop_reason is not None
        self.states.extend(state.dropped() if stopped and state.is_waiting else state for state in states)

    def end(self, count: int | None) -> None:
        """Take note that no more inputs come; `None` where there are more, which this process cannot take."""
        self.count, self._has_inputs = count, False

    def stop(self, reason: str) -> None:
        """Let nothing more be submitted, here and in any other process."""
        self.manifest.stop(reason, override=reason == CANCELLED)
        self.stop_reason = reason

    def step(self) -> bool:
        """Make one round; tell whether anything changed.

        Raises:
            StorageError: The store failed; the next round may go better.
            ConfigError: A secret that a job needs is not set in this process.
            ResultUnavailableError: Another process has collected or removed the batch, or its manifest is damaged.
        """
        before = tuple(self.states)
        if self.count is None and not self._has_inputs:
            self._reload()
        self.look()
        if self.stop_reason is None and self.record.limits.fail_fast and self.has_failed:
            self.stop(FAILED)
        # After every submission, too, and so in the last round: who stops a batch finds either the job or the mark.
        self.stop_reason = self.manifest.stopped() or self.stop_reason
        if self.stop_reason is None:
            self._submit()
        else:
            self._halt()
        self._note()
        return before != tuple(self.states)

    def look(self) -> None:
        """See how the jobs stand."""
        for state in tuple(self.states):
            if state.is_in_flight:
                self._see(state)

    def job(self, state: InputState) -> JobRecord:
        """Return the record of an input's present job."""
        return self.record.job(state, self.manifest.storage)

    def _reload(self) -> None:
        """Take what the submitting process has staged since the last look."""
        found, self.count = self.manifest.read_inputs()
        new = found[len(self.states) :]
        self.states.extend(new)
        self.completed.extend(state.index for state in new if state.is_submitted and state.is_final)

    def _see(self, state: InputState) -> None:
        seen = self._backend.status(self.job(state).ref)
        if seen.status is JobStatus.NOT_FOUND:
            left = self._what_is_left(state)
            if left is None:
                self.manifest.check_there()  # then it is no failure, and calls for no further attempt
            seen = left or seen
        if seen.status is JobStatus.PENDING and seen.reason not in {"", BEHIND_OTHERS}:
            self._tell_waiting(seen.reason)
        if seen.status is not state.status:
            self._become(state.seen(seen, retries=0 if self.stop_reason else self.record.limits.retries))

    def _tell_waiting(self, reason: str) -> None:
        """Tell, once, why nothing of the batch runs yet, but not of what passes in a moment."""
        lasts = time.monotonic() - self._reasons.setdefault(reason, time.monotonic()) >= _MOMENT_S
        is_new = lasts and reason not in self._told_reasons
        if is_new and not any(state.status is JobStatus.RUNNING for state in tuple(self.states)):
            self._told_reasons.add(reason)
            tell_waiting(self.record.group_id, reason)

    def _what_is_left(self, state: InputState) -> JobState | None:
        """Return how a job ended that its backend has forgotten, or `None` where the store has forgotten it too."""
        job, storage = self.job(state), self.manifest.storage
        if storage.exists(f"{job.folder}/{job.result_file}") or is_collected(storage, job.job_id):
            return JobState(status=JobStatus.SUCCEEDED, reason="its result is there; the backend has forgotten the job")
        return None

    def _become(self, state: InputState) -> None:
        self.states[state.index] = state
        if state.status is not JobStatus.RUNNING:
            self._dirty.add(state.index // PAGE)
        if state.is_final and state.is_submitted and state.refusal is None:
            self.completed.append(state.index)

    def _submit(self) -> None:
        waiting = self._undoubted()
        most = self.record.limits.max_concurrent
        if most is not None and (self.record.limits.fail_fast or not self._arrays):
            waiting = waiting[: max(0, most - sum(state.is_in_flight for state in self.states))]
        if not waiting:
            return
        if any(state.attempt > 1 for state in waiting):
            # So that whoever goes on knows which attempt may be running.
            self._note()
        secrets = self._secrets()
        specs = [self.record.spec(state, self.manifest.storage, secrets) for state in waiting]
        together = self._arrays and len(specs) > 1
        answers = submit_together(self._backend, specs, most) if together else submit_each(self._backend, specs)
        self._take(waiting, answers)

    def _take(self, states: Sequence[InputState], answers: Sequence[JobRef | Exception]) -> None:
        accepted = []
        for state, answer in zip(states, answers, strict=True):
            if isinstance(answer, Exception):
                self.errors[state.index] = answer
                refusal = Refusal(type_name=type(answer).__name__, message=str(answer))
                self._become(attrs.evolve(state, refusal=refusal))
            else:
                accepted.append(state.submitted(answer.details))
                self._become(accepted[-1])
        self._make_known(accepted)

    def _undoubted(self) -> list[InputState]:
        """Return what is to be submitted, after taking up what another process has submitted already."""
        found = []
        for state in tuple(self.states):
            if state.is_waiting and state.is_doubtful:
                self._take_up(state)
                state = self.states[state.index]  # noqa: PLW2901  as it stands now
            if state.is_waiting:
                found.append(state)
        return found

    def _take_up(self, state: InputState) -> None:
        ref = self.job(state).ref
        seen = self._backend.status(ref)
        if seen.status is JobStatus.NOT_FOUND:
            seen = self._what_is_left(state)
        if seen is None:
            self.states[state.index] = attrs.evolve(state, is_doubtful=False)
            return
        taken = state.submitted(ref.details)
        self._become(taken)
        self._make_known([taken])
        self._become(taken.seen(seen, retries=0 if self.stop_reason else self.record.limits.retries))

    def _make_known(self, states: Sequence[InputState]) -> None:
        """Let each job be found by its own id."""
        with Threads(_SIDE_BY_SIDE) as pool:
            list(pool.map(lambda state: record_job(self.manifest.storage, self.job(state)), states))

    def _halt(self) -> None:
        """Drop what waits, and end what is to be ended."""
        for state in self._undoubted():
            self._become(state.dropped())
        limits, everything = self.record.limits, self.stop_reason == CANCELLED
        ending = [
            self.job(state).ref
            for state in self.states
            if state.is_in_flight
            and (everything or limits.cancel_running_on_fail or (self._arrays and state.status is JobStatus.PENDING))
        ]
        ending = [ref for ref in ending if ref.job_id not in self._told_to_end]
        if ending:
            with Threads(_SIDE_BY_SIDE) as pool:
                list(pool.map(self._backend.cancel, ending))
            self._told_to_end.update(ref.job_id for ref in ending)
            self.look()

    def _note(self) -> None:
        states = tuple(self.states)
        for page in sorted(self._dirty):
            self.manifest.write_attempts(page, states[page * PAGE : (page + 1) * PAGE])
            self._dirty.discard(page)
