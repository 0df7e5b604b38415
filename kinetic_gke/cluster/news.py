"""News: the cluster's events that say why jobs wait, asked for all jobs at once, and ever more seldom."""

import threading
import time
from collections import defaultdict
from typing import Final

from kinetic_core.plugin import Logger
from kinetic_gke.cluster.client import Client, Json
from kinetic_gke.cluster.refusal import ClusterError
from kinetic_gke.diagnosis.ending import TAKING
from kinetic_gke.diagnosis.look import Look
from kinetic_gke.diagnosis.waiting import TELLING, wants_news

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 60.0


class News:
    """The events of one namespace that may say why a job waits."""

    def __init__(self, client: Client, namespace: str, log: Logger) -> None:
        """Ask nothing yet.

        Args:
            client: Of the cluster.
            namespace: Its name.
            log: Told where the cluster does not tell.
        """
        self._log = log
        self._client = client
        self._namespace = namespace
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._waiting: set[str] = set()
        self._events: dict[str, list[Json]] = {}
        self._pause_s = _FIRST_PAUSE_S
        self._asked_s = -_FIRST_PAUSE_S
        self._next_s = 0.0

    def of(self, look: Look) -> list[Json]:
        """Return the events about a job and its pods where it waits and nothing else says why; perhaps not the latest.

        None where the cluster does not tell them.
        """
        if not wants_news(look):
            self._drop(look)
            return []
        self._take_in(look)
        if self._is_due() and self._asking.acquire(blocking=False):
            try:
                self._ask()
            finally:
                self._asking.release()
        return self._about(look)

    def takings(self, job: str) -> list[Json] | None:
        """Return the events that say by what the pods of a Job were taken away; `None` where nobody tells."""
        try:
            events = [event for reason in TAKING for event in self._list(reason)]
        except ClusterError as error:
            self._untold(error)
            return None
        return [event for event in events if str(event["involvedObject"].get("name", "")).startswith(f"{job}-")]

    def due_s(self, look: Look) -> float | None:
        """Return in how many seconds there may be more; `None` where the job needs none."""
        with self._lock:
            waits = _uid(look.job) in self._waiting
            return max(self._next_s - time.monotonic(), _FIRST_PAUSE_S / 10) if waits else None

    def _take_in(self, look: Look) -> None:
        """Take note of a job that waits; for a new one, the next answer is soon, not at once after the last."""
        with self._lock:
            if _uid(look.job) not in self._waiting:
                self._waiting.add(_uid(look.job))
                self._pause_s = _FIRST_PAUSE_S
                self._next_s = min(self._next_s, self._asked_s + _FIRST_PAUSE_S)

    def _drop(self, look: Look) -> None:
        with self._lock:
            self._waiting.discard(_uid(look.job))

    def _is_due(self) -> bool:
        with self._lock:
            now_s = time.monotonic()
            if now_s < self._next_s:
                return False
            self._asked_s = now_s
            self._next_s = now_s + self._pause_s
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
            return True

    def _ask(self) -> None:
        found: defaultdict[str, list[Json]] = defaultdict(list)
        try:
            for event in (event for reason in TELLING for event in self._list(reason)):
                found[str(event["involvedObject"].get("uid", ""))].append(event)
        except ClusterError as error:
            self._untold(error)
            return
        self._events = dict(found)

    def _untold(self, error: ClusterError) -> None:
        """Go on without: how a job stands is known all the same."""
        self._log.info("events_untold", namespace=self._namespace, error=str(error))

    def _list(self, reason: str) -> list[Json]:
        answer = self._client.sure(
            f"list the events of {self._namespace!r}",
            lambda apis, options: apis.core.list_namespaced_event(
                self._namespace, field_selector=f"reason={reason}", **options
            ),
        )
        return list(answer.get("items") or [])

    def _about(self, look: Look) -> list[Json]:
        events = self._events
        return [event for obj in (look.job, *look.pods) for event in events.get(_uid(obj), ())]


def _uid(obj: Json) -> str:
    return str(obj["metadata"]["uid"])
