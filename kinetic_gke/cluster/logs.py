"""Logs: read from each pod of a job, followed across everything that breaks a stream."""

import time
from collections.abc import Generator, Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final

import attrs

from kinetic_core.plugin import Logger
from kinetic_gke.cluster.arrays import Place
from kinetic_gke.cluster.client import Json
from kinetic_gke.cluster.hostlogs import ahead
from kinetic_gke.cluster.loglines import LogPosition
from kinetic_gke.cluster.namespace import Namespace, Waiter
from kinetic_gke.cluster.patience import LONGEST_S, patiently
from kinetic_gke.cluster.refusal import OF_THE_CLIENT, ClusterError, Refusal, refusal_of
from kinetic_gke.diagnosis.look import Look, phase, worker_status
from kinetic_gke.diagnosis.state import is_over, state_of
from kinetic_gke.manifest.pod import WORKER

_NOT_YET: Final = 400
_NO_POD: Final = 404
_SILENCE_S: Final = 290.0
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 10.0
_MOST_FAILURES: Final = 6
_LOOK_S: Final = 5.0
_GOOD_STREAM_S: Final = 30.0
"""A stream that held so long was well: its job had nothing to say."""


class _CutError(Exception):
    """A stream ended before its end."""


class _LostError(Exception):
    """The server does not give the log, and will not."""


class _End(Enum):
    """How a stream ended."""

    WHOLE = auto()
    """Nothing more is to be had."""
    CUT = auto()
    """More may be."""
    GONE = auto()
    """The pod is not there."""


@attrs.frozen(kw_only=True)
class JobLog:
    """The log of one job. What goes wrong with it is told, and decides nothing."""

    namespace: Namespace
    place: Place
    job_id: str
    log: Logger
    host: int = 0
    """Of several."""

    def read(self, tail: int | None) -> Iterator[str]:
        """Yield what was written so far.

        Args:
            tail: Begin with only so many last lines, of each pod.
        """
        look = self._look()
        pods = [] if look is None else [pod for pod in look.of_host(self.host) if _has_log(pod)]
        logs = [self._pod(pod, tail=tail, waiter=None) for pod in pods]
        for pod, log in zip(pods, logs if tail is None else ahead(logs), strict=True):
            if len(pods) > 1:
                yield f"==> {pod['metadata']['name']} <==\n"
            yield from log
        if look is not None and not look.of_host(self.host) and _had_pods(look):
            yield "kinetic: none of its pods is left, and their logs are gone with them\n"

    def follow(self, tail: int | None) -> Iterator[str]:
        """Yield what was written, and what will be, until the job has ended, attempt after attempt."""
        with self.namespace.waiting(self.place.name) as waiter:
            done: set[str] = set()
            while (look := self._look(watched=True)) is not None:
                fresh = [pod for pod in look.of_host(self.host) if pod["metadata"]["uid"] not in done and _has_log(pod)]
                for pod in fresh:
                    yield from self._pod(pod, tail=tail, waiter=waiter)
                    done.add(str(pod["metadata"]["uid"]))
                if not fresh and state_of(look).status.is_terminal:
                    return
                if not fresh:
                    waiter.wait(_LOOK_S)

    def _look(self, *, watched: bool = False) -> Look | None:
        try:
            if watched:
                # Who waits for the job tells that nothing is heard of it.
                return patiently(lambda _: self._watched(), lambda _: None, deadline_s=None)
            return self.namespace.look(self.place.name, self.place.index)
        except ClusterError as error:
            self._lost(str(error))
            return None

    def _watched(self) -> Look | None:
        return self.namespace.look_watched(self.place.name, self.place.index)

    def _pod(self, pod: Json, *, tail: int | None, waiter: Waiter | None) -> Iterator[str]:
        """Yield one pod's log; with a waiter, until its worker has ended."""
        position, failures, good_s = LogPosition(), 0, time.monotonic()
        name = str(pod["metadata"]["name"])
        while True:
            was_over = waiter is None or self._is_over(name)
            before, began_s = position.lines, time.monotonic()
            try:
                end = yield from self._attempt(name, position, follow=not was_over, tail=tail)
            except (_LostError, ClusterError) as error:
                self._lost(str(error))
                return
            if end is not _End.CUT and was_over:
                if end is _End.GONE and waiter is None and not position.lines:
                    yield f"kinetic: the pod {name} is gone, and its log with it\n"
                return
            # A stream that ended well: the worker may have ended, of which the watch is about to tell.
            went_well = position.lines > before or time.monotonic() - began_s > _GOOD_STREAM_S
            failures, good_s = (1, time.monotonic()) if went_well else (failures + 1, good_s)
            # While its pod runs, there is time: the cluster may only be away.
            if failures > _MOST_FAILURES and (was_over or time.monotonic() - good_s > LONGEST_S):
                break
            pause_s = _FIRST_PAUSE_S * 2.0 ** (failures - 1)
            (waiter or Waiter()).wait(min(pause_s, _LONGEST_PAUSE_S))
        self._lost("the cluster does not give it")

    def _attempt(
        self, pod: str, position: LogPosition, *, follow: bool, tail: int | None
    ) -> Generator[str, None, _End]:
        """Yield what one stream gives; return how it ended."""
        try:
            yield from self._stream(pod, position, follow=follow, tail=tail)
        except _CutError as error:
            self.log.debug("log_cut", job_id=self.job_id, pod=pod, why=str(error))
            return _End.CUT
        except Refusal as refusal:
            if refusal.status == _NO_POD:
                return _End.GONE
            if refusal.status == _NOT_YET or refusal.may_pass:
                return _End.CUT if follow or refusal.may_pass else _End.WHOLE
            raise _LostError(str(refusal)) from refusal
        return _End.WHOLE

    def _stream(self, pod: str, position: LogPosition, *, follow: bool, tail: int | None) -> Iterator[str]:
        since_s = position.since_s
        wanted: dict[str, Any] = {"container": WORKER, "timestamps": True, "follow": follow}
        if since_s is not None:
            wanted["since_seconds"] = since_s
        elif tail is not None:
            wanted["tail_lines"] = tail

        def ask(apis: Any, options: Mapping[str, Any]) -> Any:
            return apis.core.read_namespaced_pod_log(pod, self.namespace.name, **wanted, **options)

        with self.namespace.client.stream(ask, silence_s=_SILENCE_S) as reply:
            yield from position.take(_pieces(reply))

    def _is_over(self, pod: str) -> bool:
        look = self._look(watched=True)
        if look is None:
            return True
        found = next((one for one in look.pods if one["metadata"]["name"] == pod), None)
        return found is None or "terminated" in worker_status(found) or phase(found) in {"Failed", "Succeeded"}

    def _lost(self, why: str) -> None:
        if not self.namespace.client.is_left:
            self.log.warning("log_lost", job_id=self.job_id, why=why)


def _pieces(reply: Any) -> Iterator[bytes]:
    """Yield the bytes of a stream as they come.

    Raises:
        _CutError: It broke; what was torn with it is lost, and comes again.
    """
    rest = b""
    try:
        for piece in reply.stream(amt=None, decode_content=False):
            # An unfinished line is kept back: were the stream cut here, it would be taken for whole.
            whole, newline, rest = (rest + piece).rpartition(b"\n")
            if newline:
                yield whole + newline
    except OF_THE_CLIENT as error:
        raise _CutError(refusal_of(error).message) from error
    if rest:
        yield rest


def _had_pods(look: Look) -> bool:
    """Tell whether a job has ended that had pods once."""
    status = look.job.get("status") or {}
    return is_over(look) and bool(status.get("failed") or status.get("succeeded"))


def _has_log(pod: Json) -> bool:
    state = worker_status(pod)
    return "running" in state or "terminated" in state or phase(pod) in {"Failed", "Succeeded", "Running"}
