"""The ledger: what the store knows about a job, so that any process can find it by its id.

```
<store>/jobs/<job_id>              pointer: where the job's folder is; a tombstone once it was collected
<store>/<folder>/handle.json       the record below
<store>/<folder>/payload.pkl …     artifacts
```
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs

from kinetic.jobs.ids import is_group_id
from kinetic.log import get_logger
from kinetic_core.errors import (
    JobNotFoundError,
    ObjectNotFoundError,
    ResultUnavailableError,
    StorageError,
    UsageError,
)
from kinetic_core.model.job import JobRef
from kinetic_core.plugin import Storage

FORMAT: Final = 1
CLAIM_FILE: Final = "collected"
"""In a job's folder: who put it there cleans up."""
_CLAIM_LASTS: Final = timedelta(hours=1)
_JOB_ID: Final = re.compile(r"job-[0-9a-f]{8}")
_FIELDS: Final = frozenset(
    ("format", "job_id", "backend", "func_name", "accelerator", "created_at", "storage", "folder", "result", "ref")
)
_OPTIONAL: Final = frozenset(("context", "debug_root"))


@attrs.frozen(kw_only=True)
class JobRecord:
    """All that is needed to open a job from another machine; never a credential."""

    job_id: str
    backend: str
    func_name: str
    accelerator: str
    created_at: str
    """ISO 8601 with time zone."""
    storage: str
    """URL of the store."""
    folder: str
    """The job's folder in the store."""
    result_file: str
    ref: JobRef
    context: str = ""
    """Key of the folder of the context that the job shares with others; empty where it has one of its own."""
    debug_root: str = ""
    """The package root on the client, of a job in which a debugger waits; empty of any other."""
    others: Mapping[str, Any] = attrs.field(factory=dict)
    """Keys that a newer version wrote; kept."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `handle.json`."""
        return {
            **self.others,
            "format": FORMAT,
            "job_id": self.job_id,
            "backend": self.backend,
            "func_name": self.func_name,
            "accelerator": self.accelerator,
            "created_at": self.created_at,
            "storage": self.storage,
            "folder": self.folder,
            "result": self.result_file,
            "ref": self.ref.to_json(),
            **({"context": self.context} if self.context else {}),
            **({"debug_root": self.debug_root} if self.debug_root else {}),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "JobRecord":
        """Read what `to_json` wrote.

        Raises:
            UsageError: It is no dict.
            ResultUnavailableError: A key is missing, or holds what it cannot; the message names it.
        """
        if not isinstance(raw, Mapping):
            raise UsageError(f"a job handle is a dict, got {raw!r} of type {type(raw).__name__}")
        missing = sorted(_FIELDS - {"format"} - raw.keys())
        if missing:
            raise ResultUnavailableError(f"this is no job handle: it lacks {', '.join(missing)}")
        if odd := sorted(_odd(raw)):
            raise ResultUnavailableError(f"this is no job handle: it holds no text as {', '.join(odd)}")
        return cls(
            job_id=raw["job_id"],
            backend=raw["backend"],
            func_name=raw["func_name"],
            accelerator=raw["accelerator"],
            created_at=raw["created_at"],
            storage=raw["storage"],
            folder=raw["folder"],
            result_file=raw["result"],
            ref=JobRef.from_json(raw["ref"]),
            context=str(raw.get("context", "")),
            debug_root=str(raw.get("debug_root", "")),
            others={key: value for key, value in raw.items() if key not in _FIELDS | _OPTIONAL},
        )


def _odd(raw: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys that do not hold what they should."""
    yield from (name for name in _FIELDS - {"format", "ref"} if not _is_text(raw[name]))
    ref = raw["ref"] if isinstance(raw["ref"], Mapping) else {}
    yield from (f"ref.{name}" for name in ("backend", "job_id") if not _is_text(ref.get(name)))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def now() -> str:
    """Return the present time as ISO 8601 with time zone, in whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def pointer_key(job_id: str) -> str:
    """Return the key of a job's pointer.

    >>> pointer_key("job-0a1b2c3d")
    'jobs/job-0a1b2c3d'
    """
    return f"jobs/{job_id}"


def record_job(storage: Storage, record: JobRecord) -> None:
    """Write handle and pointer; the pointer last, so that it never leads nowhere."""
    update_job(storage, record)
    storage.put_bytes(_bytes({"format": FORMAT, "folder": record.folder}), pointer_key(record.job_id))


def update_job(storage: Storage, record: JobRecord) -> None:
    """Write the handle of a job whose pointer is there."""
    storage.put_bytes(_bytes(record.to_json()), f"{record.folder}/handle.json")


def read_job(storage: Storage, job_id: str) -> JobRecord:
    """Find a job by its id alone.

    Raises:
        JobNotFoundError: The store knows no such id; the message names the store.
        ResultUnavailableError: The job was collected and cleaned up, or its record is damaged.
    """
    if not _JOB_ID.fullmatch(str(job_id)):
        batch = "; this is the id of a batch: kinetic.attach_batch takes it" if is_group_id(job_id) else ""
        raise JobNotFoundError(f"no job {job_id!r} in {storage.url}; a job id looks like job-0a1b2c3d{batch}")
    try:
        pointer = json.loads(storage.get_bytes(pointer_key(job_id)))
        if "collected_at" in pointer:
            raise collected(job_id, pointer["collected_at"])
        if not _is_text(pointer["folder"]):
            raise ValueError(f"its folder is {pointer['folder']!r}")  # noqa: TRY301  told below, as all damage
        return JobRecord.from_json(json.loads(storage.get_bytes(f"{pointer['folder']}/handle.json")))
    except ObjectNotFoundError as error:
        raise JobNotFoundError(
            f"no job {job_id!r} in {storage.url}; if it was submitted to another store, set KINETIC_STORAGE to that one"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ResultUnavailableError(f"the record of {job_id} in {storage.url} is damaged: {error}") from error


def is_collected(storage: Storage, job_id: str) -> str | None:
    """Return when the job's result was collected, or `None`."""
    try:
        pointer = json.loads(storage.get_bytes(pointer_key(job_id)))
    except (ObjectNotFoundError, ValueError):
        return None
    return pointer.get("collected_at") if isinstance(pointer, dict) else None


def claim_burial(storage: Storage, record: JobRecord) -> bool:
    """Tell whether it is for this process to clean up after a job: of all that collect it at once, one is told so.

    A claim whose holder has not cleaned up within an hour is taken over.

    Raises:
        StorageError: The store failed.
    """
    claim = f"{record.folder}/{CLAIM_FILE}"
    try:
        is_ours = storage.put_if_absent(_bytes({"format": FORMAT, "claimed_at": now()}), claim)
    except StorageError:
        # Some stores take nothing in a folder that another is removing.
        if is_collected(storage, record.job_id) is None:
            raise
        return False
    if not is_ours:
        return _is_abandoned(storage, claim)
    if is_collected(storage, record.job_id) is None:
        return True
    # Another has cleaned up already: this claim is all that lies there again.
    storage.delete_prefix(record.folder)
    return False


def _is_abandoned(storage: Storage, claim: str) -> bool:
    try:
        claimed_at = datetime.fromisoformat(json.loads(storage.get_bytes(claim))["claimed_at"])
        return datetime.now(UTC) - claimed_at > _CLAIM_LASTS
    except ObjectNotFoundError:
        return False
    except (ValueError, KeyError, TypeError):
        # Damaged: nobody relies on it.
        return True


def bury_job(storage: Storage, record: JobRecord) -> None:
    """Remove the job's folder, and leave a tombstone that says its result was collected."""
    storage.put_bytes(_bytes({"format": FORMAT, "collected_at": now()}), pointer_key(record.job_id))
    storage.delete_prefix(record.folder)


@contextmanager
def left_where_it_fails(what: str) -> Iterator[None]:
    """Warn where the removal within fails, rather than lose the value that was fetched before.

    Args:
        what: Id of the job or the batch.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001  whatever keeps a store or a backend from it
        get_logger("kinetic.jobs").warning(
            "artifacts_left",
            message=f"what is left of {what} could not be removed: {error}",
            remedy="`kinetic gc` removes it when it is old, or remove it by hand",
        )


def forget_job(storage: Storage, job_id: str, folder: str) -> None:
    """Remove every trace of a job from the store."""
    storage.delete_prefix(pointer_key(job_id))
    storage.delete_prefix(folder)


def collected(job_id: str, at: str) -> ResultUnavailableError:
    """Return the error for a job whose result is gone because somebody has it."""
    return ResultUnavailableError(
        f"the result of {job_id} was collected at {at} and cleaned up then;"
        " collect with result(cleanup=False) to keep it for others"
    )


def _bytes(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()
