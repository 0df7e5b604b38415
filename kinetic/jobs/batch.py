"""Batch handles: all that can be asked of many calls of one function, from any process."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from kinetic.jobs.deadline import Deadline, checked_seconds
from kinetic.jobs.driver import CANCELLED, Driver
from kinetic.jobs.driving import Driving
from kinetic.jobs.gathering import gather
from kinetic.jobs.handle import JobHandle
from kinetic.jobs.ledger import left_where_it_fails, pointer_key
from kinetic.jobs.lifecycle import InputState
from kinetic.transfers import transfer
from kinetic_core.errors import SubmissionError
from kinetic_core.model.job import JobStatus
from kinetic_core.model.threads import Threads

R_co = TypeVar("R_co", covariant=True)
_SIDE_BY_SIDE: Final = 16
_SHORTEST_POLL_S: Final = 0.005


class BatchHandle(Generic[R_co]):
    """Many calls of one function. Any number of handles, in any process, may stand for one batch.

    While a process holds one that was just made or attached, it drives the batch: it starts what there is room for,
    and further attempts of what failed.
    """

    def __init__(
        self,
        driving: Driving,
        make_handle: Callable[[InputState], JobHandle[R_co]],
        *,
        reattach: tuple[Callable[..., Any], tuple[Any, ...]],
    ) -> None:
        """Use `kinetic.map` or `kinetic.attach_batch` rather than this."""
        self._drivings = {os.getpid(): driving}
        self._make_handle = make_handle
        self._handles: dict[str, JobHandle[R_co]] = {}
        self._reattach = reattach

    @property
    def group_id(self) -> str:
        """`batch-` and 8 hexadecimal digits."""
        return self._driver.record.group_id

    @property
    def name(self) -> str:
        """As it was called when it was started; else the function's name."""
        return self._driver.record.name

    @property
    def tags(self) -> tuple[str, ...]:
        """As given when it was started."""
        return self._driver.record.tags

    @property
    def func_name(self) -> str:
        """Readable name of the function."""
        return self._driver.record.func_name

    @property
    def backend(self) -> str:
        """Name of the backend that runs its jobs."""
        return self._driver.record.backend

    @property
    def created_at(self) -> str:
        """When it was started: ISO 8601 with time zone."""
        return self._driver.record.created_at

    @property
    def storage(self) -> str:
        """URL of the store that holds it."""
        return self._driver.record.storage

    @property
    def jobs(self) -> list[JobHandle[R_co]]:
        """Handles of the latest job of each input that has one, in the order of the inputs."""
        return [self._handle(state) for state in self._states if state.is_submitted]

    @property
    def submission_failures(self) -> dict[int, Exception]:
        """Why inputs were never submitted, by their place among the inputs."""
        return {state.index: self._refusal(state) for state in self._states if state.refusal is not None}

    @property
    def is_complete(self) -> bool:
        """Whether all inputs are in the store.

        `False` while they are being taken, and for ever where the process that had them ended before: those it had
        not taken are lost with it.
        """
        return self._driver.count is not None

    def statuses(self) -> list[JobStatus]:
        """Return how each input stands, in their order; FAILED also where it was never submitted."""
        self._refresh()
        return [_status(state) for state in self._states]

    def status_counts(self) -> dict[JobStatus, int]:
        """Return how many inputs stand how; those that none stands for are left out."""
        return dict(Counter(self.statuses()))

    def attempts(self) -> list[int]:
        """Return how many attempts were made at each input, in their order."""
        return [state.attempt if state.is_submitted else state.attempt - 1 for state in self._states]

    def reasons(self) -> list[str]:
        """Return, in a few words for each input, why it stands as it does; empty where there is nothing to say."""
        return [state.reason if state.refusal is None else state.refusal.message for state in self._states]

    def index_of(self, job: JobHandle[Any]) -> int:
        """Return the place among the inputs of the input that a job of this batch is about."""
        found: int = job.to_dict()["input"]
        return found

    def go_on(self) -> None:
        """Drive the batch from this process, in the background. Whatever waits for it does so, too."""
        self._driving.start()

    def wait(self, timeout: float | None = None) -> dict[JobStatus, int]:
        """Wait until all has ended, and return how many inputs ended how.

        Args:
            timeout: Seconds; `None` waits for ever.

        Raises:
            ResultTimeoutError: It has not ended in time; it goes on.
            KineticError: The batch cannot be driven on from here: the store or a setting is at fault.
        """
        self._driving.wait_or_raise(lambda: False, Deadline.after(timeout))
        return dict(Counter(map(_status, self._states)))

    def results(
        self,
        timeout: float | None = None,
        ordered: bool = True,  # noqa: FBT001, FBT002  the public contract has it positional
        cleanup: bool = True,  # noqa: FBT001, FBT002  the same
        return_exceptions: bool = False,  # noqa: FBT001, FBT002  the same
    ) -> list[Any]:
        """Wait for all inputs and return their values.

        Args:
            timeout: Seconds; `None` waits for ever.
            ordered: In the order of the inputs; else in the order of completion.
            cleanup: Remove the whole batch once every value is here; where one is missing, all is kept. What cannot be
                removed is warned of.
            return_exceptions: Put the exception in the place of a value that is missing, rather than raise.

        Raises:
            ResultTimeoutError: It has not ended in time; it goes on and this handle stays valid.
            ResultUnavailableError: The batch was collected by another process, or cleaned up.
            BatchError: Some inputs have no value. With fail-fast, as soon as one has failed for good.
            KineticError: The batch cannot be driven on from here: the store or a setting is at fault.
        """
        driver = self._driver
        self._driving.wait_or_raise(
            lambda: driver.record.limits.fail_fast and driver.has_failed, Deadline.after(timeout)
        )
        storage = driver.manifest.storage
        with transfer("download", f"results of {self.group_id}", storage, size_bytes=None) as moving:
            gathered = gather(
                tuple(driver.states),
                group_id=self.group_id,
                completed=tuple(driver.completed),
                handle=self._handle,
                refusals=self.submission_failures,
                lacking=self._lacking(),
                every_error=return_exceptions,
                adopt_thread=moving.adopt_thread,
            )
        if gathered.has_failed:
            driver.manifest.check_there()
        if gathered.has_failed and not return_exceptions:
            raise gathered.error(ordered=ordered)
        if not gathered.has_failed and cleanup:
            with left_where_it_fails(self.group_id):
                driver.manifest.mark_collected()  # first: who collects too is not to think that the jobs were lost
                self._remove_jobs()
                driver.manifest.remove()
        return gathered.listed(ordered=ordered)

    def as_completed(self, poll_interval: float = 5.0, timeout: float | None = None) -> Iterator[JobHandle[R_co]]:
        """Yield the job of each input when it has ended for good, however it ended.

        Args:
            poll_interval: Look at least so often, in seconds.
            timeout: Seconds for all of them; `None` waits for ever.

        Raises:
            ResultTimeoutError: Not all have ended in time; they go on.
            UsageError: A time is no number; one that is nan is a `ConfigError`.
        """
        driver, told = self._driver, 0
        deadline = Deadline.after(timeout)
        self._driving.longest_pause_s = max(_SHORTEST_POLL_S, checked_seconds("poll_interval", poll_interval))
        while True:
            known = told
            self._driving.wait_or_raise(lambda: len(driver.completed) > known, deadline)  # noqa: B023  called at once
            if len(driver.completed) == told:
                return
            for index in driver.completed[told:]:
                told += 1
                yield self._handle(driver.states[index])

    def failures(self) -> list[JobHandle[R_co]]:
        """Return the jobs of the inputs that have failed for good, or were cancelled."""
        self._refresh()
        return [self._handle(state) for state in self._states if state.has_failed and state.is_submitted]

    def cancel(self) -> None:
        """End what runs and start nothing more, here and in every other process. Idempotent."""
        self._driver.stop(CANCELLED)
        if self._driving.is_running:
            self._driving.wake()
            self._driving.wait(lambda: False, None)
        while not self._driver.is_settled:
            self._driving.round()

    def cleanup(self) -> None:
        """Cancel what still runs, and remove all that is left of the batch. Idempotent."""
        self.cancel()
        self._remove_jobs()
        self._driver.manifest.forget()

    def progress(self, timeout: float | None = None) -> dict[JobStatus, int]:
        """Wait as `wait` does, with a live bar when stderr is a terminal and one line on it at the end otherwise."""
        from kinetic.jobs.bar import bar

        deadline = Deadline.after(timeout)
        with bar(self.group_id) as drawn:
            while True:
                left = deadline.left_s
                pause = min((one for one in (left, drawn.every_s) if one is not None), default=None)
                ended = self._driving.wait(lambda: False, pause)
                drawn.show(Counter(map(_status, self._states)), self._driver.count or self._driver.record.size)
                if ended or left == 0:
                    break
        self._driving.wait_or_raise(lambda: False, deadline)
        return dict(Counter(map(_status, self._states)))

    @property
    def _driving(self) -> Driving:
        """What drives the batch in this process: of what a fork inherits, threads are gone and locks may be held."""
        process = os.getpid()
        if process not in self._drivings:
            attach, arguments = self._reattach
            attached: BatchHandle[R_co] = attach(*arguments)
            self._drivings[process] = attached._driving
        return self._drivings[process]

    @property
    def _driver(self) -> Driver:
        return self._driving.driver

    @property
    def _states(self) -> tuple[InputState, ...]:
        return tuple(self._driver.states)

    def _refresh(self) -> None:
        """Look once where nobody drives the batch."""
        if not self._driving.is_running and not self._driver.is_settled:
            self._driver.look()

    def _handle(self, state: InputState) -> JobHandle[R_co]:
        job_id = self._driver.job(state).job_id
        if job_id not in self._handles:
            self._handles[job_id] = self._make_handle(state)
        return self._handles[job_id]

    def _refusal(self, state: InputState) -> Exception:
        known = self._driver.errors.get(state.index)
        refusal = state.refusal
        if known is not None or refusal is None:
            return known or SubmissionError("it was not submitted")
        return SubmissionError(f"input {state.index} was not submitted: {refusal.type_name}: {refusal.message}")

    def _lacking(self) -> str:
        """Say what is missing where the process that had the inputs ended before all were in the store."""
        driver = self._driver
        if driver.count is not None or driver.stop_reason is not None or not driver.is_settled:
            return ""
        size = self._driver.record.size
        there = len(self._driver.states)
        of = f" of {size}" if size is not None else ""
        return (
            f"{there}{of} inputs are in the store, and not all: the process that had them ended before it had taken the"
            " others, which are lost with it; start a batch of those"
        )

    def _remove_jobs(self) -> None:
        record, storage = self._driver.record, self._driver.manifest.storage
        with Threads(_SIDE_BY_SIDE) as pool:
            submitted = [state for state in self._states if state.is_submitted]
            list(pool.map(lambda state: self._handle(state).cleanup(storage=False), submitted))
            ids = [record.job_id(state.index, number) for state in submitted for number in range(1, state.attempt + 1)]
            list(pool.map(lambda job_id: storage.delete_prefix(pointer_key(job_id)), ids))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Travel as the batch's id; the process that unpickles it attaches anew."""
        return self._reattach

    def __repr__(self) -> str:
        return f"<kinetic.BatchHandle {self.group_id} {self.name} on {self.backend}>"


def _status(state: InputState) -> JobStatus:
    return JobStatus.FAILED if state.refusal is not None else state.status
