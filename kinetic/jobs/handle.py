"""Job handles: all that can be asked of a job, from any process."""

import functools
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, Final, Generic, Literal, TypeVar, overload

from kinetic import settings
from kinetic.jobs.changes import Changes, because, tell_waiting, ways_back
from kinetic.jobs.connection import Connection, connect
from kinetic.jobs.deadline import Deadline
from kinetic.jobs.debugging import PORT, DebugSession, launch_entry
from kinetic.jobs.ledger import JobRecord, bury_job, claim_burial, forget_job, left_where_it_fails
from kinetic.jobs.results import collect
from kinetic.jobs.streaming import LogStream, write_out
from kinetic_core.errors import ConfigError, KineticError, ResultTimeoutError, ResultUnavailableError, StorageError
from kinetic_core.model.job import JobEvent, JobState, JobStatus
from kinetic_core.wire.result import Result

R_co = TypeVar("R_co", covariant=True)
_SOON_S: Final = 0.05


class JobHandle(Generic[R_co]):
    """A job that was submitted. Any number of handles, in any process, may stand for one job."""

    def __init__(self, record: JobRecord, connection: Connection, *, accepted: Collection[str] | None = None) -> None:
        """Use `kinetic.attach` or `from_dict` rather than this.

        Args:
            record: The job.
            connection: To plugins, stores and backends.
            accepted: Formats in which a result is opened, for a record that came from elsewhere; `None` for any.
        """
        self._record = record
        self._connection = connection
        self._accepted = accepted
        self._observed: set[tuple[str, object]] = set()
        self._stream = LogStream(record.job_id, lambda: self._backend.logs(record.ref, follow=True))

    @property
    def job_id(self) -> str:
        """`job-` and 8 hexadecimal digits."""
        return self._record.job_id

    @property
    def backend(self) -> str:
        """Name of the backend that runs it."""
        return self._record.backend

    @property
    def func_name(self) -> str:
        """Readable name of the function."""
        return self._record.func_name

    @property
    def accelerator(self) -> str:
        """The accelerator as asked for."""
        return self._record.accelerator

    @property
    def created_at(self) -> str:
        """When it was submitted: ISO 8601 with time zone."""
        return self._record.created_at

    @property
    def storage(self) -> str:
        """URL of the store that holds its artifacts."""
        return self._record.storage

    def to_dict(self) -> dict[str, Any]:
        """Return the handle as a JSON object, without any credential."""
        return self._record.to_json()

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> "JobHandle[Any]":
        """Make a handle of what `to_dict` returned; unknown keys are kept.

        Raises:
            ResultUnavailableError: A key is missing.
        """
        surroundings = settings.surroundings()
        accepted = settings.accepted_formats(surroundings)
        return JobHandle(JobRecord.from_json(raw), connect(surroundings), accepted=accepted)

    def status(self) -> JobStatus:
        """Return how the job stands now."""
        return self.state().status

    def state(self) -> JobState:
        """Return the same with its reason, such as why the job does not run yet or how it failed."""
        state: JobState = self._backend.status(self._record.ref)
        return state

    def events(self, timeout: float | None = None) -> Iterator[JobEvent]:
        """Yield what happened to the job and then what happens, until it has ended or the seconds are up."""
        for event in self._backend.events(self._record.ref, timeout_s=Deadline.after(timeout).left_s):
            if (event.kind, event.at) not in self._observed:
                self._observed.add((event.kind, event.at))
                self._connection.host.notify(event, self._record.ref)
            yield event

    def wait(self, timeout: float | None = None) -> JobStatus:
        """Wait until the job has ended, and return how.

        Raises:
            ResultTimeoutError: It has not ended after so many seconds; it goes on.
        """
        return self._wait(timeout, None).status

    def result(
        self,
        timeout: float | None = None,
        stream_logs: bool = False,  # noqa: FBT001, FBT002  the public contract has it positional
        cleanup: bool = True,  # noqa: FBT001, FBT002  the same
        on_status_change: Callable[[JobStatus], None] | None = None,
    ) -> R_co:
        """Wait for the job and return its value.

        Args:
            timeout: Seconds to wait; `None` waits for ever.
            stream_logs: Copy the job's log to stdout while waiting.
            cleanup: On success, remove the backend's resource and the artifacts; a failure keeps them. What cannot be
                removed is warned of, and the value comes home all the same.
            on_status_change: Called with each new status.

        Raises:
            ResultTimeoutError: It has not ended in time; it goes on and this handle stays valid.
            JobCancelledError: It was cancelled.
            JobFailedError: It ended without a value; the message says how.
            ResultUnavailableError: Its result was collected already, or cannot be read here.
            RemoteError: The function's exception cannot come home as itself.
            BaseException: The function's own exception, with the remote traceback as a note.
        """
        try:
            state = self._wait(timeout, on_status_change, streaming=stream_logs)
            self._stream.finish()
        finally:
            self._stream.stop()
        storage = self._connection.storage(self._record.storage)
        try:
            value: R_co = collect(self._record, state, storage, self._backend, self._reader())
        except StorageError as error:
            way = f"collect it with kinetic.attach({self.job_id!r}).result()"
            error.add_note(f"{self.job_id} ({self.func_name}) has ended: {state.status}; {way}")
            raise
        if cleanup:
            with left_where_it_fails(self.job_id):
                if claim_burial(storage, self._record):
                    self._backend.cleanup(self._record.ref)
                    bury_job(storage, self._record)
        return value

    def debug_attach(self, local_port: int = PORT) -> DebugSession:
        """Open a port here that leads to the debugger of a job that was submitted with `debug=True`.

        It is open at once, also while the job still waits for a machine, and until `close`; `launch` of what is
        returned is the entry for a `launch.json`.

        Args:
            local_port: Of this machine; 0 for any that is free.

        Raises:
            ConfigError: The job was submitted without `debug=True` or has ended, or the port is taken.
        """
        record, backend = self._record, self._backend
        if not record.debug_root:
            raise ConfigError(f"{self.job_id} was submitted without debug=True, so no debugger waits in it")
        if (status := self.status()).is_terminal:
            raise ConfigError(f"{self.job_id} has ended ({status}), and its debugger with it")
        launch = functools.partial(
            launch_entry,
            name=f"kinetic: {self.func_name} ({self.job_id})",
            root=record.debug_root,
            workspace=backend.debug_workspace(record.ref),
        )
        connect = functools.partial(backend.debug_connection, record.ref)
        return DebugSession(self.job_id, lambda port: launch(port=port), connect).open(local_port)

    def follow(self) -> R_co:
        """Stream the log and return the value; Ctrl-C leaves the job running and says how to go on.

        Where a debugger waits in the job, a port leads to it meanwhile, and stderr says which.
        """
        try:
            with self._debugged():
                return self.result(stream_logs=True)
        except KeyboardInterrupt as interrupt:
            advice = f"{self.job_id} goes on; {ways_back(self.job_id)}"
            sys.stderr.write(f"\nkinetic: {advice}\n")
            # Below the traceback too, which would otherwise bury it.
            interrupt.add_note(advice)
            raise

    @overload
    def logs(
        self,
        follow: Literal[False] = False,  # noqa: FBT002  the public contract has it positional
        *,
        host: int | Literal["all"] = 0,
    ) -> str: ...
    @overload
    def logs(self, follow: bool, *, host: int | Literal["all"] = 0) -> str | None: ...  # noqa: FBT001  the same
    def logs(self, follow: bool = False, *, host: int | Literal["all"] = 0) -> str | None:  # noqa: FBT001, FBT002
        """Return the log as text; with `follow`, copy it to stdout until the job has ended instead.

        Args:
            follow: Go on until the job has ended.
            host: Of a job with several: a number from 0 on, or `"all"` for the lines of each behind `[host N]`.

        Raises:
            ConfigError: The job has no such host, or its backend shows host 0's only.
        """
        if not follow:
            return "".join(self._logs(host))
        with suppress(KineticError):
            state = self.state()
            if state.status is JobStatus.PENDING and state.reason:
                tell_waiting(self.job_id, state.reason)
        for piece in self._logs(host, follow=True):
            write_out(piece)
        return None

    def tail(self, n: int = 100, *, host: int | Literal["all"] = 0) -> str:
        """Return the last `n` lines of the log; `host` as for `logs`."""
        return "".join(self._logs(host, tail=n))

    def cancel(self) -> None:
        """End the job and all its processes; nothing happens when it has ended."""
        self._backend.cancel(self._record.ref)

    def cleanup(self, backend: bool = True, storage: bool = True) -> None:  # noqa: FBT001, FBT002  public contract
        """Remove what is left of the job: the backend's resource, the store's artifacts. Idempotent."""
        if backend:
            self._backend.cleanup(self._record.ref)
        if storage:
            forget_job(self._connection.storage(self._record.storage), self.job_id, self._record.folder)

    @contextmanager
    def _debugged(self) -> Iterator[None]:
        if not self._record.debug_root:
            yield
            return
        try:
            session = self.debug_attach()
        except ConfigError:
            session = self.debug_attach(0)  # somebody else debugs at the usual port
        with session:
            sys.stderr.write(f"kinetic: {self.job_id} waits for a debugger; attach it with this of launch.json:\n")
            sys.stderr.write(f"{session}\n")
            yield

    def _reader(self) -> Callable[[Path], Result]:
        suffix = PurePosixPath(self._record.result_file).suffix
        for serializer in self._connection.host.serializers().values():
            if serializer.suffix != suffix:
                continue
            if self._accepted is not None and serializer.name not in self._accepted:
                raise ResultUnavailableError(
                    f"Serialization format {serializer.name!r} not allowed. Allowed formats: {sorted(self._accepted)!r}"
                    f" (KINETIC_ALLOWED_SERIALIZATION here; {self.job_id} says that its result is in the other)"
                )
            return serializer.read
        raise ResultUnavailableError(
            f"no installed plugin reads the result {self._record.result_file} of {self.job_id};"
            " install the one that wrote it"
        )

    @property
    def _backend(self) -> Any:
        return self._connection.backend(self._record.backend)

    def _logs(self, host: int | Literal["all"], **how: Any) -> Iterator[str]:
        backend, ref = self._backend, self._record.ref
        if host == 0:
            pieces: Iterator[str] = backend.logs(ref, **how)
        elif hasattr(backend, "host_logs"):
            pieces = backend.host_logs(ref, host=None if host == "all" else host, **how)
        else:
            raise ConfigError(f"the backend {self.backend!r} shows the log of host 0 only; leave out host={host!r}")
        return pieces

    def _wait(
        self, timeout: float | None, on_change: Callable[[JobStatus], None] | None, *, streaming: bool = False
    ) -> JobState:
        deadline, changes = Deadline.after(timeout), Changes(on_change)
        try:
            if streaming and self._ends_soon(deadline.left_s, changes):
                self._stream.show()
            else:
                if streaming:
                    self._stream.start()
                self._follow(deadline.left_s, changes)
            state = self.state()
        except KineticError as error:
            # Who cannot ask any more knows nothing of the job, which has its own life.
            error.add_note(
                f"while waiting for {self.job_id} ({self.func_name}), which goes on; {ways_back(self.job_id)}"
            )
            raise
        if not state.status.is_terminal and deadline.timeout_s is not None:
            raise ResultTimeoutError(
                f"{self.job_id} ({self.func_name}) is still {state.status} after {deadline.timeout_s} s"
                f"{because(state)}; it goes on, ask this handle again"
            )
        return state

    def _ends_soon(self, timeout: float | None, changes: "Changes") -> bool:
        """Wait for a moment where that costs nothing: of a job that ends within it no thread has to copy the log."""
        driver = self._connection.host.backends().get(self.backend)
        if driver is None or driver.remote:
            return False
        return self._follow(_SOON_S if timeout is None else min(timeout, _SOON_S), changes)

    def _follow(self, timeout: float | None, changes: "Changes") -> bool:
        """Follow what happens, and tell whether the job has ended."""
        has_ended = False
        for event in self.events(timeout):
            changes.hear(event)
            has_ended = event.status.is_terminal
        return has_ended

    def __reduce__(self) -> tuple[Callable[[Mapping[str, Any]], "JobHandle[Any]"], tuple[dict[str, Any]]]:
        """Travel as what `to_dict` returns; the process that unpickles it connects anew."""
        return JobHandle.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"<kinetic.JobHandle {self.job_id} {self.func_name} on {self.backend}>"
