"""From what a job left behind to a value or the real error."""

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from kinetic.jobs.cached import forget_damaged
from kinetic.jobs.changes import because
from kinetic.jobs.contexts import remove_damaged
from kinetic.jobs.lastwords import last_words
from kinetic.jobs.ledger import JobRecord, collected, is_collected
from kinetic.jobs.logend import shortened
from kinetic.scratch import scratch
from kinetic.transfers import transfer
from kinetic_core.errors import (
    JobCancelledError,
    JobFailedError,
    KineticError,
    ObjectNotFoundError,
    RemoteError,
    ResultUnavailableError,
)
from kinetic_core.model.job import JobState, JobStatus
from kinetic_core.plugin import Backend, Storage
from kinetic_core.wire.result import REMOTE_MESSAGE, REMOTE_TRACEBACK, REMOTE_TYPE, Result

_SHOWN_CHARS: Final = 300
_FILE: Final = "file://"
_USER_PHASES: Final = frozenset(("execute", "payload unpickle", None))


def collect(
    record: JobRecord, state: JobState, storage: Storage, backend: Backend, read: Callable[[Path], Result]
) -> Any:
    """Return the job's value.

    Args:
        record: The job.
        state: How it ended.
        storage: The store that holds its result.
        backend: Where it ran, for its last log lines.
        read: Reads a result file of the job's format; no other format is opened, whatever lies in the store.

    Raises:
        JobCancelledError: It was cancelled.
        JobFailedError: It ended without a result, or in a phase that is not the user's code.
        ResultUnavailableError: The result was collected already, or cannot be read here.
        RemoteError: The function's exception cannot come home as itself.
        BaseException: The function's own exception, with the remote traceback as a note.
    """
    if state.status is JobStatus.CANCELLED:
        raise JobCancelledError(f"{record.job_id} ({record.func_name}) was cancelled")
    stored = {found.key: found.size_bytes for found in storage.list(record.folder)}
    key = f"{record.folder}/{record.result_file}"
    leader = _fetch(record, storage, key, read, size_bytes=stored.get(key))
    failures = _failures(state, leader, _worker_failures(record, storage, stored, read))
    if not failures:
        if leader is None or not leader.success or state.failed_host is not None:
            raise _no_result(record, state, storage, backend)
        return leader.result
    first = failures[0]
    error = _failure(record, state, first, [result.host_index for result in failures[1:]])
    for note in filter(None, (remove_damaged(record, first, storage), forget_damaged(first, storage))):
        _add_note(error, note)
    raise error


def _fetch(
    record: JobRecord, storage: Storage, key: str, read: Callable[[Path], Result], *, size_bytes: int | None
) -> Result | None:
    url = storage.url_of(key)
    if url.startswith(_FILE):
        # It appeared there whole, and stays whole for who has opened it.
        there = Path(url.removeprefix(_FILE))
        try:
            return _read(record, storage, key, read, there) if there.exists() else None
        except ResultUnavailableError:
            if there.exists():
                raise
            return None
    with scratch() as directory:
        path = directory / PurePosixPath(key).name
        try:
            with transfer("download", path.name, storage, size_bytes=size_bytes) as moving:
                moving.get_file(key, path)
        except ObjectNotFoundError:
            return None
        return _read(record, storage, key, read, path)


def _read(record: JobRecord, storage: Storage, key: str, read: Callable[[Path], Result], path: Path) -> Result:
    try:
        return read(path)
    except Exception as error:
        # One of our own says what is wrong; any other is that of a plugin's format.
        what = str(error) if isinstance(error, KineticError) else f"its format raised {type(error).__name__}: {error}"
        raise ResultUnavailableError(
            f"{record.job_id} ({record.func_name}): {what}; it lies at {storage.url}/{key}"
        ) from error


def _worker_failures(
    record: JobRecord, storage: Storage, stored: Mapping[str, int], read: Callable[[Path], Result]
) -> list[Result]:
    suffix = PurePosixPath(record.result_file).suffix
    found = {key: size_bytes for key, size_bytes in stored.items() if _is_worker_result(key, suffix)}
    results = [_fetch(record, storage, key, read, size_bytes=size_bytes) for key, size_bytes in found.items()]
    return sorted((result for result in results if result and not result.success), key=lambda one: one.host_index)


def _failures(state: JobState, leader: Result | None, workers: list[Result]) -> list[Result]:
    """Return the failures to tell of, the lowest host's first.

    Where one host fails, the others are told to stop and record that: it is no failure of theirs, and in a job that
    succeeded it is one of an earlier attempt.
    """
    every = [leader, *workers] if leader is not None and not leader.success else workers
    own = [result for result in every if not result.terminated]
    has_value = leader is not None and leader.success and state.status is JobStatus.SUCCEEDED
    return own if own or state.failed_host is not None or has_value else every


def _is_worker_result(key: str, suffix: str) -> bool:
    name = PurePosixPath(key).name
    return name.startswith("result-worker-") and name.endswith(suffix)


def _failure(record: JobRecord, state: JobState, result: Result, other_hosts: list[int]) -> BaseException:
    error = _home_coming(record, state, result)
    where = f" on host {result.host_index}" if result.host_index or other_hosts else ""
    _add_note(error, f"raised in {record.job_id} ({record.func_name}){where}, phase {result.phase!r}")
    if result.traceback:
        _add_note(error, f"remote traceback:\n{result.traceback}")
    if other_hosts:
        _add_note(error, f"also failed: {', '.join(f'host {index}' for index in other_hosts)}")
    return error


def _add_note(error: BaseException, note: str) -> None:
    try:
        error.add_note(note)
    except Exception:  # noqa: BLE001 - the user's class: frozen, or with something else under that name
        notes = vars(error).get("__notes__")
        vars(error)["__notes__"] = [*(notes if isinstance(notes, list) else ()), note]


def _home_coming(record: JobRecord, state: JobState, result: Result) -> BaseException:
    if result.serialization_failed:
        cause = f": {_message_of(result.exception)}" if result.exception is not None else ""
        shown = result.result_repr or ""
        shown = shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}…"
        return JobFailedError(
            f"{record.job_id} ({record.func_name}) returned a value that cannot travel{cause};"
            f" it was {shown}. Return plain data, or write it to KINETIC_OUTPUT_DIR"
        )
    if result.terminated:
        return JobFailedError(
            f"{record.job_id} ({record.func_name}) was told to stop while in phase {result.phase!r}"
            f" ({state.reason or 'preempted, or ended from outside'})"
        )
    exception = result.exception
    text = "no exception was recorded"
    if exception is not None:
        text = f"{type(exception).__name__}: {_message_of(exception)}"
    if result.phase in _USER_PHASES:
        return _as_raised(exception, text, result.traceback)
    failed = JobFailedError(f"{record.job_id} ({record.func_name}) failed in phase {result.phase!r}: {text}")
    failed.__cause__ = exception
    return failed


def _as_raised(exception: BaseException | None, text: str, traceback: str | None) -> Exception:
    """Return the exception itself, or what tells most of one that did not come or must not be raised here."""
    if exception is None:
        return RemoteError(text, traceback=traceback)
    if type(exception) is RuntimeError and REMOTE_TYPE in (told := vars(exception)):
        return RemoteError(
            str(exception),
            type_name=str(told[REMOTE_TYPE]),
            message=str(told.get(REMOTE_MESSAGE, "")),
            traceback=told.get(REMOTE_TRACEBACK) or traceback,
        )
    if isinstance(exception, Exception):
        return exception
    kind = type(exception)
    return RemoteError(
        text, type_name=f"{kind.__module__}.{kind.__qualname__}", message=_message_of(exception), traceback=traceback
    )


def _message_of(exception: BaseException) -> str:
    try:
        return str(exception)
    except Exception as error:  # noqa: BLE001 - the user's class: its text may need what only the pod has
        return f"(its text raised {type(error).__name__} here)"


def _no_result(record: JobRecord, state: JobState, storage: Storage, backend: Backend) -> Exception:
    at = is_collected(storage, record.job_id)
    if at is not None:
        return collected(record.job_id, at)
    code = f", exit code {state.exit_code}" if state.exit_code is not None else ""
    if state.status is JobStatus.NOT_FOUND:
        return JobFailedError(
            f"{record.job_id} ({record.func_name}) is gone without a result: {record.backend} knows no such job"
            f"{because(state)}. It was removed, or never started because its client ended while submitting it"
        )
    lines = last_words(record.ref, state, backend).rstrip()
    return JobFailedError(
        f"{record.job_id} ({record.func_name}) ended without a result: {state.status}{code}{because(state)}"
        + (f"\nlast lines of its log:\n{shortened(lines)}" if lines else "; its log is empty")
    )
