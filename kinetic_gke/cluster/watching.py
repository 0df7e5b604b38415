"""A watch: keeps a copy of one kind of a namespace's objects up to date, through all that breaks a stream."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from kinetic_core.plugin import Logger
from kinetic_gke.cluster.client import Apis, Client, Json, lines_of
from kinetic_gke.cluster.refusal import OF_THE_CLIENT, ClusterError, Refusal, refusal_of

List = Callable[[Apis, Mapping[str, Any]], Any]

_GONE: Final = 410
_STREAM_S: Final = 290
"""Shorter than the five minutes after which proxies cut what they take for idle."""
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 15.0
_GOOD_STREAM_S: Final = 5.0
"""A stream that held so long was well: the next one follows at once."""
_MOST_FAILURES: Final = 8
"""In a row, before those who wait are told; the watch goes on as long as there are any."""


class Watch:
    """One kind of one namespace. Runs while it is wanted, in a thread of its own, and begins anew when asked again."""

    def __init__(
        self,
        client: Client,
        listing: List,
        *,
        what: str,
        kept: Callable[[Json], Json],
        changed: Callable[[Json], None],
        wanted: Callable[[], bool],
        log: Logger,
    ) -> None:
        """Do nothing before `start`.

        Args:
            client: Of the cluster.
            listing: Lists, and watches with more arguments.
            what: Is watched, for messages: `jobs of 'default'`.
            kept: Makes of an object what the copy keeps of it.
            changed: Told of each object that is new, changed or gone, after the copy has changed.
            wanted: Tells whether somebody still waits.
            log: Told of each failure.
        """
        self._client = client
        self._listing = listing
        self._what = what
        self._kept = kept
        self._changed = changed
        self._wanted = wanted
        self._log = log
        self._objects: dict[str, Json] = {}
        self._ready = threading.Event()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._reply: Any = None
        self._error: ClusterError | None = None

    @property
    def runs(self) -> bool:
        """Tell whether the copy is kept up to date."""
        return self._thread is not None and self._thread.is_alive() and self._ready.is_set()

    def start(self) -> None:
        """Begin, where it does not run, and return when the copy is complete.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._ready.clear()
                self._over.clear()
                self._error = None
                # A daemon: watching keeps no client from leaving.
                self._thread = threading.Thread(target=self._run, name=f"kinetic-gke-{self._what}", daemon=True)
                self._thread.start()
        self._ready.wait()
        self.check()

    def check(self) -> None:
        """Raise what keeps the copy from being true.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        if self._error is not None:
            raise self._error

    def objects(self) -> list[Json]:
        """Return the objects as they are known."""
        return list(self._objects.values())

    def get(self, name: str) -> Json | None:
        """Return an object as it is known."""
        return self._objects.get(name)

    def close(self) -> None:
        """End it now."""
        self._over.set()
        reply, thread = self._reply, self._thread
        if reply is not None:
            with suppress(*OF_THE_CLIENT, ValueError, AttributeError):
                reply.shutdown()
        if thread is not None and thread is not threading.current_thread():
            thread.join(2 * _GOOD_STREAM_S)

    def _run(self) -> None:
        try:
            self._loop()
        except Exception as error:
            # Whoever waits must learn of it.
            self._fail(ClusterError(f"the watch of {self._what} ended: {type(error).__name__}: {error}"))
            raise
        finally:
            self._ready.set()

    def _loop(self) -> None:
        failures, version = 0, ""
        while not self._over.is_set() and (self._wanted() or not self._ready.is_set()):
            began_s = time.monotonic()
            try:
                version = version or self._list()
                self._error = None
                self._ready.set()
                version = self._follow(version)
            except Refusal as refusal:
                if self._over.is_set():
                    break
                if refusal.status == _GONE:
                    version = ""
                elif not self._goes_on(refusal, failures):
                    break
            except ClusterError as error:
                self._fail(error)
                break
            failures = 0 if time.monotonic() - began_s > _GOOD_STREAM_S else failures + 1
            if failures:
                # The first break is most often a proxy's or a server's restart.
                self._over.wait(min(_FIRST_PAUSE_S * 2.0**failures, _LONGEST_PAUSE_S) * random.uniform(0.5, 1.0))  # noqa: S311 - nobody gains by guessing it

    def _goes_on(self, refusal: Refusal, failures: int) -> bool:
        self._log.info("watch_broken", what=self._what, error=str(refusal), failures=failures + 1)
        if refusal.may_pass and self._ready.is_set() and failures < _MOST_FAILURES:
            return True
        self._fail(self._client.error(refusal, f"let the {self._what} be watched"))
        return False

    def _fail(self, error: ClusterError) -> None:
        self._error = error
        known = self.objects()
        self._ready.set()
        for obj in known:
            self._changed(obj)

    def _list(self) -> str:
        """Replace the copy; return its version."""
        answer = self._client.ask(f"list the {self._what}", self._listing)
        fresh = {str(obj["metadata"]["name"]): self._kept(obj) for obj in answer.get("items") or []}
        before, self._objects = self._objects, fresh
        for name, obj in {**before, **fresh}.items():
            if _version(before.get(name)) != _version(fresh.get(name)):
                self._changed(obj)
        return str(answer["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> str:
        """Take what changes until the stream ends; return the version that the next one goes on from."""
        more = {"watch": True, "allow_watch_bookmarks": True, "timeout_seconds": _STREAM_S, "resource_version": version}
        with self._client.stream(
            lambda apis, options: self._listing(apis, {**options, **more}), silence_s=_STREAM_S
        ) as (reply):
            self._reply = reply
            try:
                # Who closes the watch has told so before he looks for the stream.
                for event in _events(reply) if not self._over.is_set() else ():
                    version = self._take(event)
            except OF_THE_CLIENT as error:
                refusal = refusal_of(error)
                self._log.debug("watch_cut", what=self._what, error=str(refusal))
            finally:
                self._reply = None
        return version

    def _take(self, event: Json) -> str:
        obj: Json = event["object"]
        if event["type"] == "ERROR":
            raise Refusal(
                status=int(obj.get("code") or 0), reason=obj.get("reason", ""), message=obj.get("message", "")
            )
        if event["type"] != "BOOKMARK":
            self._keep(event["type"], self._kept(obj))
        return str(obj["metadata"]["resourceVersion"])

    def _keep(self, happening: str, obj: Json) -> None:
        name = str(obj["metadata"]["name"])
        if happening == "DELETED":
            self._objects.pop(name, None)
        elif _version(self._objects.get(name)) == _version(obj):
            return
        else:
            self._objects[name] = obj
        self._changed(obj)


def _events(reply: Any) -> Iterator[Json]:
    for line in lines_of(reply):
        try:
            event: Json = json.loads(line)
        except ValueError:
            # Cut in the middle of a line.
            return
        yield event


def _version(obj: Json | None) -> object:
    return None if obj is None else (obj["metadata"].get("uid"), obj["metadata"].get("resourceVersion"))
