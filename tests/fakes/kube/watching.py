"""Watches: what happened since, then what happens, line by line."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from tests.fakes.kube.answers import expired
from tests.fakes.kube.api import Target, matcher
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.pace import Pace
from tests.fakes.kube.resources import Resource
from tests.fakes.kube.selectors import Matcher
from tests.fakes.kube.store import Change, Store, TooOldError

LONGEST_S: Final = 1800
_BEFORE_END_S: Final = 2
_LOOK_S: Final = 0.2
# What a bookmark of these kinds holds beside its version, for the types of its fields.
_EMPTY: Final[dict[str, Obj]] = {
    "jobs.batch": {"spec": {"template": {"metadata": {}, "spec": {"containers": None}}}, "status": {}},
    "pods": {"spec": {"containers": None}, "status": {}},
}


class Watches:
    """Serves watches, each in the thread of its request."""

    def __init__(self, store: Store, pace: Pace) -> None:
        self._store = store
        self._pace = pace
        self._lock = threading.Lock()
        self._cut = 0

    def cut_all(self) -> None:
        """Break every watch that runs, as a proxy or a restarting server does."""
        with self._lock:
            self._cut += 1

    def lines(self, target: Target, query: dict[str, str], is_heard: Callable[[], bool]) -> Iterator[bytes]:
        """Yield the events of a watch until its time is over or nobody listens.

        Raises:
            ConnectionAbortedError: It was broken.
        """
        matches = matcher(query)
        seconds = min(int(query.get("timeoutSeconds") or LONGEST_S), LONGEST_S)
        end = time.monotonic() + seconds * self._pace.watch_second_s
        bookmarks = query.get("allowWatchBookmarks") in {"1", "true", "True"}
        began, since = self._cut, 0
        for line, since in self._initial(target, query, matches):  # noqa: B007 - the last one counts
            if line:
                yield line
        bookmark_at = self._next_bookmark(end)
        while (left := end - time.monotonic()) > 0 and is_heard():
            if began != self._cut:
                raise ConnectionAbortedError
            try:
                changes = self._store.changes(since, min(left, _LOOK_S))
            except TooOldError:
                yield _line("ERROR", expired(f"too old resource version: {since} ({self._store.revision})").body())
                return
            for change in changes:
                since = change.revision
                if change.key.resource == target.resource.id and target.namespace in {"", change.key.namespace}:
                    yield from _seen(change, matches, target.name)
            if bookmarks and time.monotonic() >= bookmark_at:
                bookmark_at = self._next_bookmark(end)
                yield _line("BOOKMARK", _bookmark(target.resource, since))

    def _next_bookmark(self, end: float) -> float:
        """Return when the next bookmark is due: now and then, and shortly before the watch ends."""
        now = time.monotonic()
        last = end - _BEFORE_END_S * self._pace.watch_second_s
        soon = now + self._pace.bookmark_s
        return min(soon, last) if last > now else soon

    def _initial(self, target: Target, query: dict[str, str], matches: Matcher) -> Iterator[tuple[bytes, int]]:
        asked = query.get("resourceVersion", "")
        everything = query.get("sendInitialEvents") == "true" or asked in {"", "0"}
        if not everything:
            yield b"", int(asked)
            return
        found, revision = self._store.items(target.resource.id, target.namespace)
        for key, obj in found:
            if matches(obj) and target.name in {"", key.name}:
                yield _line("ADDED", obj), revision
        if query.get("sendInitialEvents") == "true":
            bookmark = _bookmark(target.resource, revision)
            bookmark["metadata"]["annotations"] = {"k8s.io/initial-events-end": "true"}
            yield _line("BOOKMARK", bookmark), revision
        yield b"", revision


def _seen(change: Change, matches: Matcher, name: str) -> Iterator[bytes]:
    """Yield the event as a watch with a selector sees it: what stops matching is deleted, what begins to is added."""
    if name and change.key.name != name:
        return
    did = change.before is not None and matches(change.before)
    does = matches(change.object) and change.happening != "DELETED"
    if does:
        yield _line("MODIFIED" if did else "ADDED", change.object)
    elif did:
        gone = change.object
        if change.happening != "DELETED" and change.before is not None:
            metadata = {**change.before["metadata"], "resourceVersion": str(change.revision)}
            gone = {**change.before, "metadata": metadata}
        yield _line("DELETED", gone)


def _bookmark(resource: Resource, revision: int) -> Obj:
    head = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {"resourceVersion": str(revision)}}
    return {**head, **_EMPTY.get(resource.id, {})}


def _line(kind: str, obj: Obj) -> bytes:
    return json.dumps({"type": kind, "object": obj}, separators=(",", ":")).encode() + b"\n"
