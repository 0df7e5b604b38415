"""How objects go: with grace, with their dependents first or after, or without them."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from tests.fakes.kube.objects import Obj, is_deleted, stamp
from tests.fakes.kube.store import Change, Key, Store

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_FINALIZERS: Final[dict[str, str]] = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


def ask_to_go(store: Store, key: Key, propagation: Propagation = "Background") -> Obj | None:
    """Delete an object that knows no grace; returns it when it stays for a while, None when it is gone."""
    finalizer = _FINALIZERS.get(propagation)

    def mark(obj: Obj) -> None:
        metadata = obj["metadata"]
        if "deletionTimestamp" not in metadata:
            metadata["deletionTimestamp"] = stamp(dt.datetime.now(dt.UTC))
            metadata["deletionGracePeriodSeconds"] = 0
            if "generation" in metadata:
                metadata["generation"] += 1
        if finalizer and finalizer not in metadata.get("finalizers", []):
            metadata["finalizers"] = [*metadata.get("finalizers", []), finalizer]

    obj = store.get(key)
    if obj is None:
        return None
    if finalizer is None and not obj["metadata"].get("finalizers"):
        store.remove(key)
        return None
    store.update(key, mark)
    return store.get(key)


def stop_pod(store: Store, key: Key, grace_s: int | None = None) -> Obj | None:
    """Delete a pod: with its grace period where it runs, at once where it does not."""

    def mark(pod: Obj) -> None:
        metadata = pod["metadata"]
        grace = pod["spec"]["terminationGracePeriodSeconds"] if grace_s is None else grace_s
        if pod["status"].get("phase") in {"Succeeded", "Failed"} or not pod["spec"].get("nodeName"):
            grace = 0
        if is_deleted(pod):
            if grace >= metadata["deletionGracePeriodSeconds"]:
                return
        elif "generation" in metadata:
            metadata["generation"] += 1
        goes = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=grace)
        metadata["deletionTimestamp"] = stamp(goes)
        metadata["deletionGracePeriodSeconds"] = grace

    before = store.get(key)
    return store.update(key, mark) or before


class GarbageCollector:
    """Follows owners: their dependents go with them, before them, or are let go."""

    def __init__(self, store: Store, later: Callable[[Callable[[], None]], None]) -> None:
        self._store = store
        self._later = later
        self._dependents: defaultdict[str, set[Key]] = defaultdict(set)
        self._living: dict[str, Key] = {}

    def observe(self, change: Change) -> None:
        """Take note of one step of the history, and act on it."""
        uid = change.object["metadata"]["uid"]
        owners = {owner["uid"] for owner in change.object["metadata"].get("ownerReferences") or []}
        before = (change.before or {}).get("metadata", {}).get("ownerReferences") or []
        for gone in {owner["uid"] for owner in before} - owners:
            self._dependents[gone].discard(change.key)
        if change.happening == "DELETED":
            self._living.pop(uid, None)
            for owner in owners:
                self._dependents[owner].discard(change.key)
                self._finish_foreground(owner)
            self._later(lambda: self._collect(uid))
            return
        self._living[uid] = change.key
        for owner in owners:
            self._dependents[owner].add(change.key)
        if owners and change.happening == "ADDED" and not owners & self._living.keys():
            self._delete(change.key)
        if is_deleted(change.object):
            self._later(lambda: self._advance(change))

    def _advance(self, change: Change) -> None:
        uid = change.object["metadata"]["uid"]
        finalizers = change.object["metadata"].get("finalizers") or []
        if ORPHAN in finalizers:
            for key in sorted(self._dependents[uid], key=lambda key: key.name):
                self._store.update(key, lambda obj: _disown(obj, uid))
            self._store.update(change.key, lambda obj: _finish(obj, ORPHAN))
        elif FOREGROUND in finalizers:
            for key in sorted(self._dependents[uid], key=lambda key: key.name):
                self._delete(key, "Foreground")
            self._finish_foreground(uid)

    def _finish_foreground(self, uid: str) -> None:
        """Let the owner go once none is left that blocks it."""
        key = self._living.get(uid)
        if key is not None and not any(self._store.get(each) for each in self._dependents[uid]):
            self._store.update(key, lambda obj: _finish(obj, FOREGROUND))

    def _collect(self, uid: str) -> None:
        for key in sorted(self._dependents.pop(uid, ()), key=lambda key: key.name):
            obj = self._store.get(key)
            if obj is not None:
                owners = {owner["uid"] for owner in obj["metadata"].get("ownerReferences") or []}
                if not owners & self._living.keys():
                    self._delete(key)

    def _delete(self, key: Key, propagation: Propagation = "Background") -> None:
        obj = self._store.get(key)
        if obj is None or is_deleted(obj):
            return
        if key.resource == "pods":
            stop_pod(self._store, key)
        else:
            ask_to_go(self._store, key, propagation)


def _disown(obj: Obj, uid: str) -> None:
    owners = [owner for owner in obj["metadata"].get("ownerReferences") or [] if owner["uid"] != uid]
    obj["metadata"]["ownerReferences"] = owners
    if not owners:
        del obj["metadata"]["ownerReferences"]


def _finish(obj: Obj, finalizer: str) -> None:
    left = [each for each in obj["metadata"].get("finalizers") or [] if each != finalizer]
    obj["metadata"]["finalizers"] = left
    if not left:
        del obj["metadata"]["finalizers"]
