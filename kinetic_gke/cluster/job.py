"""One job on its cluster: all that can be asked of it, and done to it."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobEvent, JobState, JobStatus
from kinetic_core.plugin import Logger
from kinetic_gke.cluster.arrays import Place
from kinetic_gke.cluster.ending import end_index, end_job
from kinetic_gke.cluster.hostlogs import one_by_one, side_by_side
from kinetic_gke.cluster.logs import JobLog
from kinetic_gke.cluster.namespace import Namespace
from kinetic_gke.cluster.patience import patiently
from kinetic_gke.cluster.refusal import Refusal
from kinetic_gke.cluster.submission import delete_job
from kinetic_gke.cluster.tunnel import Tunnel
from kinetic_gke.diagnosis.look import Look, worker_status
from kinetic_gke.diagnosis.mark import CANCELLED, Mark
from kinetic_gke.diagnosis.state import history, is_over, state_of
from kinetic_gke.diagnosis.waiting import hopeless
from kinetic_gke.manifest.environment import DEBUG_PORT

_LONGEST_WAIT_S: Final = 30.0
_ANSWER_S: Final = 10.0
"""How long a debugger that listens takes to say so."""
_ENDS_NOW: Final = (400, 404)
"""What a pod answers that runs no more."""


@attrs.frozen(kw_only=True)
class ClusterJob:
    """One job, alone in its Job or at its index of an array."""

    job_id: str
    place: Place
    namespace: Namespace
    log: Logger

    def state(self) -> JobState:
        """Return how it stands now.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        look = self._seen(self.namespace.look)
        if look is None:
            return JobState(status=JobStatus.NOT_FOUND, reason=self._absence)
        state = self._given_up(look) or state_of(look)
        if state.status is JobStatus.PENDING:
            return state_of(look, self.namespace.news.of(look))
        return state

    def events(self, timeout_s: float | None) -> Iterator[JobEvent]:
        """Yield what happened to it and then what happens, until it has ended or the time is up.

        Raises:
            ClusterError: The cluster refuses, or does not answer for long.
        """
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        told: set[tuple[str, str, object]] = set()
        last: JobEvent | None = None
        with self.namespace.waiting(self.place.name) as waiter:
            while True:
                look = patiently(self._watched, self.namespace.tell_silent, deadline_s=deadline_s)
                if look is None:
                    if last is not None:
                        yield self._removed(last)
                    return
                for event in history(self.job_id, look, self.namespace.news.of(look)):
                    key = (event.kind, event.reason, event.details.get("pod"))
                    if key not in told:
                        told.add(key)
                        last = _after(last, event)
                        yield last
                left_s = _LONGEST_WAIT_S if deadline_s is None else deadline_s - time.monotonic()
                if left_s <= 0 or (last is not None and last.status.is_terminal):
                    return
                waiter.wait(min(left_s, self.namespace.news.due_s(look) or _LONGEST_WAIT_S))

    def logs(self, *, follow: bool, tail: int | None) -> Iterator[str]:
        """Yield pieces of its log as text, undecodable bytes replaced."""
        return self._log_of(0, follow=follow, tail=tail)

    def host_logs(self, host: int | None, *, follow: bool, tail: int | None) -> Iterator[str]:
        """Yield pieces of the log of one host, or lines of all, each behind its host.

        Raises:
            ConfigError: It has no such host.
            ClusterError: The cluster refuses, or does not answer.
        """
        look = self._seen(self.namespace.look)
        hosts = 1 if look is None else look.hosts
        if host is None:
            logs = {f"[host {one}] ": self._log_of(one, follow=follow, tail=tail) for one in range(hosts)}
            return side_by_side(logs) if follow else one_by_one(logs)
        if look is not None and not 0 <= host < hosts:
            there = "one host, 0" if hosts == 1 else f"{hosts} hosts, 0 to {hosts - 1}"
            raise ConfigError(f"{self.job_id} has no host {host}: it has {there}")
        return self._log_of(host, follow=follow, tail=tail)

    def _log_of(self, host: int, *, follow: bool, tail: int | None) -> Iterator[str]:
        if self.namespace.is_cleaned(self.place):
            return iter(())
        log = JobLog(namespace=self.namespace, place=self.place, job_id=self.job_id, log=self.log, host=host)
        return log.follow(tail) if follow else log.read(tail)

    def debugger(self) -> Tunnel | None:
        """Return a way to the debugger that its first host lets listen; `None` where none does yet.

        Raises:
            ConfigError: None will: the job has ended.
            ClusterError: The cluster refuses, or does not answer.
        """
        look = self._seen(self.namespace.look)
        state = None if look is None else state_of(look)
        if look is None or state is None or state.status.is_terminal:
            how = "is not there any more" if state is None else f"has ended ({state.status})"
            raise ConfigError(f"{self.job_id} cannot be debugged: it {how}")
        running = [pod for pod in look.of_host(0) if "running" in worker_status(pod)]
        if not running:
            return None
        name = str(running[-1]["metadata"]["name"])
        try:
            tunnel = self.namespace.client.tunnel(self.namespace.name, name, DEBUG_PORT)
        except Refusal as refusal:
            if refusal.may_pass or refusal.status in _ENDS_NOW:
                return None
            raise self.namespace.client.error(refusal, f"open a way to the pod {name!r}") from None
        if tunnel.answers(_ANSWER_S):
            return tunnel
        tunnel.close()
        return None

    def cancel(self) -> None:
        """End it and its pods; the cluster gives them their grace period.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        look = self._seen(self.namespace.look_now)
        if look is not None and not is_over(look):
            self._end(look)

    def cleanup(self) -> None:
        """Remove it, and with it its pods and its Secret; one that still runs ends.

        An array stays until all of its jobs were removed, or its time to live is over.

        Raises:
            ClusterError: The cluster refuses, or does not answer.
        """
        if self.place.index is not None:
            look = self._seen(self.namespace.look)
            if look is None:
                return
            if not state_of(look).status.is_terminal:
                self._end(look)
            if self.namespace.clean(self.place) < int(look.job["spec"]["completions"]):
                return
        self.namespace.expect(self.place.name, lambda job: job is None)
        delete_job(self.namespace.client, self.namespace.name, self.place.name)

    def _seen(self, look: Callable[[str, int | None], Look | None]) -> Look | None:
        return None if self.namespace.is_cleaned(self.place) else look(self.place.name, self.place.index)

    def _end(self, look: Look) -> None:
        now = datetime.now(UTC)
        if self.place.index is None:
            end_job(self.namespace, look, Mark(status=JobStatus.CANCELLED, reason=CANCELLED, at=now))
        else:
            end_index(self.namespace, look, self.place.index, now)

    def _watched(self, is_again: bool) -> Look | None:  # noqa: FBT001 - called by one place, with its only argument
        """Return how it stands as the watches tell; asked again, they begin anew where they have ended."""
        if not is_again:
            self.namespace.check()
        look = self._seen(self.namespace.look_watched)
        if look is not None:
            self._given_up(look)
        return look

    def _given_up(self, look: Look) -> JobState | None:
        """End a job that will never start; return how it stands with that."""
        reason = hopeless(look) if not state_of(look).status.is_terminal else ""
        if not reason:
            return None
        self.log.info("job_given_up", job=self.place.name, reason=reason)
        end_job(self.namespace, look, Mark(status=JobStatus.FAILED, reason=reason, at=datetime.now(UTC)))
        return JobState(status=JobStatus.FAILED, reason=reason)

    @property
    def _absence(self) -> str:
        cluster = self.namespace.client.access.name
        return f"there is no Job {self.place.name!r} in the namespace {self.namespace.name!r} of {cluster}"

    def _removed(self, last: JobEvent) -> JobEvent:
        at = max(last.at, datetime.now(UTC))
        reason = "its Job was deleted"
        return JobEvent(job_id=self.job_id, kind="job_removed", at=at, status=JobStatus.NOT_FOUND, reason=reason)


def _after(last: JobEvent | None, event: JobEvent) -> JobEvent:
    """Return an event at a time that fits: a wait begins when it is seen, and nothing happens before what was told."""
    at = datetime.now(UTC) if event.kind == "job_waiting" else event.at
    return attrs.evolve(event, at=at if last is None else max(at, last.at))
