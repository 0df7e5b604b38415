"""Finding what nobody needs any more in a store: finished jobs' artifacts, and cached objects without a recent use.

Only what is this client's own and what all share is looked at; of others' jobs and contexts it is not known whether
they live. Whatever is uncertain stays.
"""

import json
import re
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, Literal

import attrs

from kinetic import settings
from kinetic.jobs.attach import store_url
from kinetic.jobs.connection import Connection, connect
from kinetic.jobs.ledger import JobRecord
from kinetic.jobs.ledger import pointer_key as job_key
from kinetic.jobs.manifest import pointer_key as batch_key
from kinetic.jobs.manifest import read_batch
from kinetic.references import CACHE, MARKER_SUFFIX, RENEWED_S
from kinetic.submission.cleaning import LONGEST_S, Bounds, Cleaning
from kinetic.submission.inventory import Inventory
from kinetic.submission.preflight import FOLDER as PROBES
from kinetic.submission.sharing import CONTEXTS, client_of
from kinetic.submission.uses import Uses
from kinetic_core.errors import KineticError, ObjectNotFoundError, ResultUnavailableError, StorageError, UsageError
from kinetic_core.model.job import JobRef, JobStatus
from kinetic_core.model.threads import Threads
from kinetic_core.plugin import Storage

_SIDE_BY_SIDE: Final = 16
_DAY_S: Final = 86_400.0
_BATCH_JOB: Final = re.compile(r"((?:.+[-/])?batch-[0-9a-f]{8})/jobs/\d+-\d+")
_UNSHARED: Final = re.compile(r"(?:job|batch)-[0-9a-f]{8}")
_GROUP_ID: Final = re.compile(r"batch-[0-9a-f]{8}$")
_NAMED_BY_ID: Final = re.compile(r".+-[0-9a-f]{8}")
_UNBOUNDED: Final = Bounds(bases=1 << 30, layers=1 << 30, size_bytes=1 << 62)

Kind = Literal["job", "batch", "data", "context", "probe"]


@attrs.frozen(kw_only=True)
class Garbage:
    """Something that can go as a whole."""

    kind: Kind
    name: str
    keys: tuple[str, ...]
    """Objects and folders, in the order in which they go."""
    size_bytes: int
    age_s: float
    """Since it was written or used last."""
    newest_s: float
    """When the latest of its objects was written, in seconds since the epoch."""
    ref: JobRef | None = None
    """Of a job: what its backend may still keep goes too."""


@attrs.frozen(kw_only=True)
class Job:
    """What a pointer in the store stands for."""

    pointer: str
    folder: str = ""
    record: JobRecord | None = None


@attrs.define(kw_only=True)
class Search:
    """One look at a store."""

    storage: Storage
    connection: Connection
    client: str
    """As `client_of` returns it."""
    uses: Uses
    older_than_s: float
    now_s: float
    _live_since_s: float = attrs.field(default=float("inf"), init=False)
    _live_contexts: set[str] = attrs.field(factory=set, init=False)

    def find(self) -> list[Garbage]:
        """Return what can go, nothing of which a live job needs.

        Raises:
            StorageError: The store failed.
        """
        inventory = Inventory.of(self.storage)
        jobs, batches = self._jobs(inventory), self._batches(inventory)
        found = [
            *self._finished_batches(inventory, jobs, batches),
            *self._finished_jobs(inventory, jobs, batches.values()),
        ]
        found += self._orphans(inventory, {_folder_named(job.folder) for job in jobs} | set(batches.values()))
        # Jobs first: which live decides about the rest.
        return [*found, *self._stale_data(inventory), *self._stale_contexts(inventory), *self._probes(inventory)]

    def stale_contexts(self) -> list[str]:
        """Return the keys of this client's contexts that were not used for so long and that no live job needs.

        Raises:
            StorageError: The store failed, or the client's list of uses.
        """
        cleaning = Cleaning(
            storage=self.storage,
            client=self.client,
            uses=self.uses,
            bounds=_UNBOUNDED,
            longest_s=self.older_than_s,
            now_s=self.now_s,
        )
        try:
            return cleaning.surplus()
        except OSError as error:
            raise StorageError(
                f"nobody can tell which contexts in {self.storage.url} this client's jobs need: {error};"
                " make that file readable, or nothing can be removed"
            ) from error

    def _jobs(self, inventory: Inventory) -> list[Job]:
        with Threads(_SIDE_BY_SIDE) as pool:
            return list(pool.map(self._job, inventory.names("jobs")))

    def _job(self, job_id: str) -> Job:
        pointer = job_key(job_id)
        folder = self._folder(pointer)
        return Job(pointer=pointer, folder=folder, record=self._record(folder) if folder else None)

    def _batches(self, inventory: Inventory) -> dict[str, str]:
        """Return the folder of each batch by its id; empty for a tombstone, or what nobody can read."""
        return {group_id: self._folder(batch_key(group_id)) for group_id in inventory.names("batches")}

    def _folder(self, pointer: str) -> str:
        """Return where a pointer leads; empty for a tombstone, or what nobody can read.

        A store that fails is no answer: what it did not say might be that the job lives.
        """
        with suppress(ObjectNotFoundError, ValueError, AttributeError):
            return str(json.loads(self.storage.get_bytes(pointer)).get("folder", ""))
        return ""

    def _record(self, folder: str) -> JobRecord | None:
        with suppress(ObjectNotFoundError, UsageError, ResultUnavailableError, ValueError, KeyError, TypeError):
            return JobRecord.from_json(json.loads(self.storage.get_bytes(f"{folder}/handle.json")))
        return None

    def _finished_jobs(self, inventory: Inventory, jobs: list[Job], batches: Collection[str]) -> Iterator[Garbage]:
        for job in jobs:
            if _folder_named(job.folder) in batches:
                continue
            keys = (job.pointer, job.folder) if job.folder else (job.pointer,)
            if self._is_finished(job, inventory) and self._is_own(job.folder):
                yield from self._old("job", job.pointer.rpartition("/")[2], keys, inventory, job.record)

    def _finished_batches(self, inventory: Inventory, jobs: list[Job], batches: Mapping[str, str]) -> Iterator[Garbage]:
        for group_id, folder in batches.items():
            its = [job for job in jobs if folder and job.folder.startswith(f"{folder}/")]
            finished = [self._is_finished(job, inventory) for job in its]
            # Of a batch that cannot be read it is not known whether a job is about to start.
            with suppress(KineticError):
                if all(finished) and self._is_own(folder) and not (folder and self._waits(group_id)):
                    keys = (batch_key(group_id), *(job.pointer for job in its), *((folder,) if folder else ()))
                    yield from self._old("batch", group_id, keys, inventory, None)

    def _orphans(self, inventory: Inventory, named: set[str]) -> Iterator[Garbage]:
        """Yield folders that no pointer leads to: what was killed before it wrote one, or while it removed all.

        A submission that uploads just now has written something of its own within a day.
        """
        own = self.client.partition("/")[2]
        for folder in (*filter(_UNSHARED.fullmatch, inventory.names("")), *_below(own, inventory)):
            # At the top, a folder in which there are others is that of a user called so.
            if folder in named or any(map(_NAMED_BY_ID.fullmatch, inventory.names(folder))):
                continue
            record = self._record(folder)
            left = Job(pointer="", folder=folder, record=record)
            is_old = self._age_s(inventory, folder) > _DAY_S
            if is_old and (record is None or self._is_finished(left, inventory)):
                kind: Kind = "batch" if _GROUP_ID.search(folder) else "job"
                yield from self._old(kind, folder, (folder,), inventory, record)

    def _waits(self, group_id: str) -> bool:
        """Tell whether a job of the batch may start or go on; its client may just be about to submit it."""
        manifest = read_batch(self.storage, group_id)
        states, _ = manifest.read_inputs()
        in_flight = (manifest.record.job(state, self.storage) for state in states if state.is_in_flight)
        return any(self._status(job) in {JobStatus.PENDING, JobStatus.RUNNING, None} for job in in_flight)

    def _is_finished(self, job: Job, inventory: Inventory) -> bool:
        """Tell whether a job has ended for certain; of one that may live, take note what it needs."""
        if not job.folder:
            return True  # a tombstone, or what nobody can read
        record, age_s = job.record, self._age_s(inventory, job.pointer, job.folder)
        if record is None:
            return age_s > LONGEST_S
        has_result = any(found.key.endswith(f"/{record.result_file}") for found in inventory.at(job.folder))
        status = self._status(record) if self._is_own(job.folder) else JobStatus.NOT_FOUND
        if status is None or status is JobStatus.NOT_FOUND:
            # Perhaps it runs where this client does not see it.
            finished = has_result or age_s > LONGEST_S
        else:
            finished = status.is_terminal
        if not finished:
            self._live_since_s = min(self._live_since_s, _seconds(record.created_at))
            self._live_contexts.add(record.context)
        return finished

    def _status(self, record: JobRecord) -> JobStatus | None:
        try:
            return self.connection.backend(record.backend).status(record.ref).status
        except Exception:  # noqa: BLE001 - who cannot be asked has not said that the job is over
            return None

    def _is_own(self, folder: str) -> bool:
        top = _folder_named(folder)
        return "/" not in top or top.startswith(f"{self.client.partition('/')[2]}/")

    def _stale_data(self, inventory: Inventory) -> Iterator[Garbage]:
        """Yield content whose marker tells of no recent use.

        A use renews the marker of what is older than `RENEWED_S`, so what was written within that time may have been
        used since. What a live job uses was renewed before it was submitted.
        """
        since_s = min(self.now_s - self.older_than_s, self._live_since_s - _DAY_S)
        for name in dict.fromkeys(name.removesuffix(MARKER_SUFFIX) for name in inventory.names(CACHE)):
            folder, marker = f"{CACHE}/{name}", f"{CACHE}/{name}{MARKER_SUFFIX}"
            if folder == CONTEXTS:
                continue
            content_s, marker_s = inventory.newest_s(folder), inventory.newest_s(marker)
            used_s = max(content_s + RENEWED_S, marker_s) if content_s else marker_s
            if used_s < since_s and (content_s or marker_s):
                yield self._garbage("data", name, (marker, folder), inventory, age_s=self.now_s - used_s)

    def _stale_contexts(self, inventory: Inventory) -> Iterator[Garbage]:
        for key in self.stale_contexts():
            if key not in self._live_contexts:
                yield self._garbage("context", key.removeprefix(f"{CONTEXTS}/"), (key,), inventory)

    def _probes(self, inventory: Inventory) -> Iterator[Garbage]:
        for name in inventory.names(PROBES):
            yield from self._old("probe", name, (f"{PROBES}/{name}",), inventory, None)

    def _old(
        self, kind: Kind, name: str, keys: tuple[str, ...], inventory: Inventory, record: JobRecord | None
    ) -> Iterator[Garbage]:
        age_s = self._age_s(inventory, *keys)
        if not inventory.newest_s(*keys) and record is not None:
            age_s = self.now_s - _seconds(record.created_at)
        if age_s > self.older_than_s:
            ref = None if record is None else record.ref
            yield self._garbage(kind, name, keys, inventory, age_s=age_s, ref=ref)

    def _age_s(self, inventory: Inventory, *keys: str) -> float:
        """Return the age; 0 where the store tells no time, so that nothing goes by mistake."""
        newest_s = inventory.newest_s(*keys)
        return self.now_s - newest_s if newest_s else 0.0

    def _garbage(
        self,
        kind: Kind,
        name: str,
        keys: tuple[str, ...],
        inventory: Inventory,
        *,
        age_s: float | None = None,
        ref: JobRef | None = None,
    ) -> Garbage:
        return Garbage(
            kind=kind,
            name=name,
            keys=keys,
            size_bytes=inventory.size_bytes(*keys),
            age_s=self._age_s(inventory, *keys) if age_s is None else age_s,
            newest_s=inventory.newest_s(*keys),
            ref=ref,
        )


def search_for(url: str | None, *, older_than_s: float) -> Search:
    """Return a search of a store of this client's.

    Args:
        url: Of the store; `None` for the one that jobs use.
        older_than_s: Age from which something may go.

    Raises:
        ConfigError: The URL is none, or no driver knows its scheme.
        PluginError: The driver is broken, or what it needs is not installed.
    """
    surroundings = settings.surroundings()
    connection = connect(surroundings)
    storage = connection.storage(url or store_url(connection, surroundings))
    client = client_of(surroundings)
    return Search(
        storage=storage,
        connection=connection,
        client=client,
        uses=Uses.of_store(storage, client),
        older_than_s=older_than_s,
        now_s=time.time(),
    )


def described(garbage: Garbage) -> Mapping[str, Any]:
    """Return it as JSON."""
    return {
        "kind": garbage.kind,
        "name": garbage.name,
        "size_bytes": garbage.size_bytes,
        "age_days": round(garbage.age_s / _DAY_S, 2),
        "keys": list(garbage.keys),
    }


def _folder_named(folder: str) -> str:
    """Return the folder that goes as a whole: of a batch's job, the batch's.

    >>> _folder_named("ada-0a1b2c3d/train-batch-0a1b2c3d/jobs/7-1"), _folder_named("ada-0a1b2c3d/batch-all-0a1b2c3d")
    ('ada-0a1b2c3d/train-batch-0a1b2c3d', 'ada-0a1b2c3d/batch-all-0a1b2c3d')
    """
    found = _BATCH_JOB.fullmatch(folder)
    return found.group(1) if found else folder


def _below(own: str, inventory: Inventory) -> Iterator[str]:
    return (f"{own}/{name}" for name in inventory.names(own) if _NAMED_BY_ID.fullmatch(name))


def _seconds(created_at: str) -> float:
    try:
        return datetime.fromisoformat(created_at).timestamp()
    except ValueError:
        return 0.0
