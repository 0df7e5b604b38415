"""The objects, each with its version, and the history of their changes that watches read."""

import copy
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias

import attrs

from tests.fakes.kube.objects import Obj, is_deleted, new_uid, now

Happening: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]
FIRST_REVISION = 1000


@attrs.frozen
class Key:
    """Where an object stands: `jobs.batch`, its namespace (empty for cluster-wide kinds), its name."""

    resource: str
    namespace: str
    name: str


@attrs.frozen
class Change:
    """One step of the history."""

    revision: int
    happening: Happening
    key: Key
    object: Obj
    before: Obj | None


class TooOldError(Exception):
    """The history before the revision asked for is forgotten."""


class TakenError(Exception):
    """The key has an object already."""


class StaleError(Exception):
    """The object is another than the caller believes."""


class Store:
    """Versioned objects. What it returns is shared and must not be changed; `update` hands out a copy to change."""

    def __init__(self, history: int = 100_000) -> None:
        self._objects: dict[Key, Obj] = {}
        self._history: deque[Change] = deque(maxlen=history)
        self._changed = threading.Condition(threading.RLock())
        self._forgotten = FIRST_REVISION
        self.revision = FIRST_REVISION

    def get(self, key: Key) -> Obj | None:
        """Return the object, or None."""
        with self._changed:
            return self._objects.get(key)

    def items(self, resource: str, namespace: str = "") -> tuple[list[tuple[Key, Obj]], int]:
        """Return the objects of a kind, in the order of their keys, and the revision of that state."""
        with self._changed:
            found = [
                (key, obj)
                for key, obj in self._objects.items()
                if key.resource == resource and namespace in {"", key.namespace}
            ]
            return sorted(found, key=lambda item: (item[0].namespace, item[0].name)), self.revision

    def objects(self, resource: str, namespace: str = "") -> list[Obj]:
        """Return the objects of a kind."""
        return [obj for _, obj in self.items(resource, namespace)[0]]

    def create(self, key: Key, obj: Obj) -> Obj:
        """Keep a new object; it gets its identity and its first version."""
        with self._changed:
            if key in self._objects:
                raise TakenError
            return self._record("ADDED", key, identified(obj, key), None)

    def update(self, key: Key, change: Callable[[Obj], None], *, version: str | None = None) -> Obj | None:
        """Change a copy of the object and keep it as the next version, unless nothing changed.

        Returns what is kept, or None where no such object is. One whose deletion waited only for
        what is now gone from its finalizers goes.

        Raises:
            StaleError: `version` is not the object's.
        """
        with self._changed:
            before = self._objects.get(key)
            if before is None:
                return None
            if version not in {None, "", before["metadata"]["resourceVersion"]}:
                raise StaleError
            after = copy.deepcopy(before)
            change(after)
            if after == before:
                return before
            if is_deleted(after) and _may_go(after):
                if not before["metadata"].get("finalizers"):
                    before = self._record("MODIFIED", key, after, before)
                return self.remove(key)
            return self._record("MODIFIED", key, after, before)

    def remove(self, key: Key) -> Obj | None:
        """Forget the object; its last state is what watches see."""
        with self._changed:
            before = self._objects.get(key)
            return None if before is None else self._record("DELETED", key, copy.deepcopy(before), before)

    def _record(self, happening: Happening, key: Key, after: Obj, before: Obj | None) -> Obj:
        self.revision += 1
        after["metadata"]["resourceVersion"] = str(self.revision)
        if before is not None and _has_new_spec(before, after):
            after["metadata"]["generation"] = before["metadata"]["generation"] + 1
        if happening == "DELETED":
            del self._objects[key]
        else:
            self._objects[key] = after
        if len(self._history) == self._history.maxlen:
            self._forgotten = self._history[0].revision
        self._history.append(Change(self.revision, happening, key, after, before))
        self._changed.notify_all()
        return after

    def changes(self, since: int, timeout_s: float, *, of_old: bool = False) -> list[Change]:
        """Return what happened after the revision; wait for it at most so long.

        The controllers, which are never far behind, see what is forgotten too (`of_old`).

        Raises:
            TooOldError: That is no longer known.
        """
        end = time.monotonic() + timeout_s
        with self._changed:
            while self.revision <= since:
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    return []
            if since < self._forgotten and not of_old:
                raise TooOldError
            newer: deque[Change] = deque()
            for change in reversed(self._history):
                if change.revision <= since:
                    break
                newer.appendleft(change)
            return list(newer)

    def forget(self) -> None:
        """Forget the history, as a compaction does: a watch from an earlier revision gets 410."""
        with self._changed:
            self.revision += 1
            self._forgotten = self.revision
            self._changed.notify_all()

    def knows(self, revision: int) -> bool:
        """Tell whether the history reaches back so far."""
        with self._changed:
            return revision >= self._forgotten


def identified(obj: Obj, key: Key) -> Obj:
    """Return a copy of the object with what the server gives to each new one."""
    made = copy.deepcopy(obj)
    given = made["metadata"]
    metadata: Obj = {"name": key.name}
    if "generateName" in given:
        metadata["generateName"] = given["generateName"]
    if key.namespace:
        metadata["namespace"] = key.namespace
    metadata |= {"uid": given.get("uid") or new_uid(), "creationTimestamp": now()}
    if "spec" in made and (made["kind"] == "Pod" or "/" in made["apiVersion"]):
        metadata["generation"] = 1
    made["metadata"] = metadata | {name: value for name, value in given.items() if name not in metadata}
    return made


def _may_go(obj: Obj) -> bool:
    graceful = obj.get("kind") == "Pod" and obj["metadata"].get("deletionGracePeriodSeconds", 0) > 0
    return not graceful and not obj["metadata"].get("finalizers")


def _has_new_spec(before: Obj, after: Obj) -> bool:
    """Tell whether the generation grows; a pod's binding to a node leaves it alone."""
    return "generation" in before["metadata"] and after["kind"] != "Pod" and after["spec"] != before["spec"]
