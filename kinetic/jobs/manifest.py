"""The manifest: what the store knows about a batch, so that any process can see to it by its id.

```
<store>/batches/<group_id>            pointer: where the batch's folder is; a tombstone once it was collected
<store>/<folder>/batch.json           what does not change, see `BatchRecord`
<store>/<folder>/inputs/<page>.json   what was staged, a hundred inputs a page; the submitting client alone writes it
<store>/<folder>/inputs/end.json      how many there are, once there are no more
<store>/<folder>/attempts/<page>.json how far each input is; a note of whoever drives the batch
<store>/<folder>/stopped              nothing more is to be submitted
```
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import attrs

from kinetic.jobs.batchrecord import BatchRecord
from kinetic.jobs.ids import is_group_id
from kinetic.jobs.ledger import now
from kinetic.jobs.lifecycle import InputState
from kinetic_core.errors import ConfigError, JobNotFoundError, ObjectNotFoundError, ResultUnavailableError
from kinetic_core.plugin import Storage

FORMAT: Final = 1
PAGE: Final = 100
"""Inputs a page: large enough that few objects hold a batch, small enough to be written again for each change."""
POINTERS: Final = "batches"


@attrs.frozen(kw_only=True)
class Manifest:
    """One batch's manifest in its store."""

    storage: Storage
    record: BatchRecord

    @property
    def folder(self) -> str:
        """Return the key of the batch's folder."""
        return self.record.folder

    def begin(self) -> None:
        """Make the batch known; the pointer last, so that it never leads nowhere."""
        self.storage.put_bytes(_bytes(self.record.to_json()), f"{self.folder}/batch.json")
        self.storage.put_bytes(_bytes({"format": FORMAT, "folder": self.folder}), pointer_key(self.record.group_id))

    def write_inputs(self, page: int, states: Iterable[InputState]) -> None:
        """Replace a page of what was staged."""
        self._put(f"inputs/{page:05}.json", "inputs", [state.input_json() for state in states])

    def write_end(self, count: int) -> None:
        """Note that there are so many inputs, and no more."""
        self.storage.put_bytes(_bytes({"format": FORMAT, "count": count}), f"{self.folder}/inputs/end.json")

    def write_attempts(self, page: int, states: Iterable[InputState]) -> None:
        """Replace a page of how far inputs are."""
        self._put(f"attempts/{page:05}.json", "attempts", [state.attempt_json() for state in states])

    def stop(self, reason: str, *, override: bool) -> None:
        """Let nothing more be submitted, by whatever process.

        Args:
            reason: Why.
            override: Replace the reason of a batch that was stopped before.
        """
        mark, key = _bytes({"format": FORMAT, "reason": reason, "at": now()}), f"{self.folder}/stopped"
        if override:
            self.storage.put_bytes(mark, key)
        else:
            self.storage.put_if_absent(mark, key)

    def stopped(self) -> str | None:
        """Return why nothing more is to be submitted, or `None`."""
        raw = self._get("stopped")
        return None if raw is None else str(raw.get("reason", ""))

    def read_inputs(self) -> tuple[list[InputState], int | None]:
        """Return how far each input is, and how many there are where that is known.

        Raises:
            ResultUnavailableError: A page is damaged or gone: which inputs there are is not known.
        """
        end = self._get("inputs/end.json")
        try:
            count = None if end is None else int(end["count"])
            taken = sorted(self._rows("inputs"), key=lambda row: row["index"])
            noted = {row["index"]: row for row in self._rows("attempts")}
            states = [InputState.from_json(row, noted.get(row["index"])) for row in taken]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _damaged(self.record.group_id, self.storage, error) from error
        if [state.index for state in states] != list(range(len(states) if count is None else count)):
            self.check_there()
            raise _damaged(self.record.group_id, self.storage, LookupError("a page of its inputs is gone"))
        return states, count

    def mark_collected(self) -> None:
        """Leave a tombstone in the place of the pointer: whoever asks from now on is told that somebody has it all."""
        tombstone = {"format": FORMAT, "collected_at": now()}
        self.storage.put_bytes(_bytes(tombstone), self._pointer)

    def check_there(self) -> None:
        """Find out whether another process has collected or removed the batch.

        Raises:
            ResultUnavailableError: It has; the message says so.
        """
        group_id = self.record.group_id
        try:
            _raise_if_collected(group_id, json.loads(self.storage.get_bytes(self._pointer)))
        except ObjectNotFoundError as error:
            raise ResultUnavailableError(f"{group_id} was cleaned up: nothing of it is left") from error
        except (ValueError, TypeError) as error:
            raise _damaged(group_id, self.storage, error) from error

    def remove(self) -> None:
        """Remove the batch's folder."""
        self.storage.delete_prefix(self.folder)

    def forget(self) -> None:
        """Remove every trace of the batch from the store."""
        self.storage.delete_prefix(self._pointer)
        self.remove()

    @property
    def _pointer(self) -> str:
        return pointer_key(self.record.group_id)

    def _put(self, name: str, key: str, rows: Sequence[Any]) -> None:
        data = json.dumps({"format": FORMAT, key: rows}, separators=(",", ":")).encode()
        self.storage.put_bytes(data, f"{self.folder}/{name}")

    def _get(self, name: str) -> dict[str, Any] | None:
        try:
            raw = json.loads(self.storage.get_bytes(f"{self.folder}/{name}"))
        except ObjectNotFoundError:
            return None
        except ValueError as error:
            raise _damaged(self.record.group_id, self.storage, error) from error
        if not isinstance(raw, dict):
            raise _damaged(self.record.group_id, self.storage, TypeError(f"{name} holds no object"))
        return raw

    def _rows(self, kind: str) -> Iterator[dict[str, Any]]:
        for stored in self.storage.list(f"{self.folder}/{kind}"):
            raw = self._get(stored.key.removeprefix(f"{self.folder}/")) or {}
            yield from raw.get(kind, ())


def read_batch(storage: Storage, group_id: str) -> Manifest:
    """Find a batch by its id alone.

    Raises:
        JobNotFoundError: The store knows no such id; the message names the store.
        ResultUnavailableError: The batch was collected and cleaned up, or its record is damaged.
    """
    if not is_group_id(group_id):
        raise JobNotFoundError(
            f"no batch {group_id!r} in {storage.url}; the id of a batch looks like batch-0a1b2c3d"
            " (`kinetic batches list` shows those of a store)"
        )
    try:
        pointer = json.loads(storage.get_bytes(pointer_key(group_id)))
        _raise_if_collected(group_id, pointer)
        raw = json.loads(storage.get_bytes(f"{pointer['folder']}/batch.json"))
        return Manifest(storage=storage, record=BatchRecord.from_json(raw))
    except ObjectNotFoundError as error:
        known = [stored.key.removeprefix(f"{POINTERS}/") for stored in storage.list(POINTERS)]
        near = difflib.get_close_matches(group_id, known, n=1)
        hint = f"did you mean {near[0]!r}? If" if near else "if"
        raise JobNotFoundError(
            f"no batch {group_id!r} in {storage.url}; {hint} it was submitted to another store, set KINETIC_STORAGE to"
            " that one (`kinetic batches list` shows those of a store)"
        ) from error
    except (ConfigError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(group_id, storage, error) from error


def find_batches(storage: Storage) -> Iterator[Manifest]:
    """Yield the batches of a store that were not cleaned up."""
    for stored in storage.list(POINTERS):
        try:
            yield read_batch(storage, stored.key.removeprefix(f"{POINTERS}/"))
        except (JobNotFoundError, ResultUnavailableError):
            continue


def pointer_key(group_id: str) -> str:
    """Return the key of a batch's pointer.

    >>> pointer_key("batch-0a1b2c3d")
    'batches/batch-0a1b2c3d'
    """
    return f"{POINTERS}/{group_id}"


def _raise_if_collected(group_id: str, pointer: Any) -> None:
    if "collected_at" in pointer:
        raise ResultUnavailableError(
            f"the results of {group_id} were collected at {pointer['collected_at']} and cleaned up then;"
            " collect with results(cleanup=False) to keep them for others"
        )


def _damaged(group_id: str, storage: Storage, error: Exception) -> ResultUnavailableError:
    return ResultUnavailableError(
        f"the record of {group_id} in {storage.url} is damaged: {type(error).__name__}: {error}"
    )


def _bytes(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()
