"""Why a job failed: what its last failed pod says, and the Job where no pod is left."""

import signal
from collections.abc import Mapping
from typing import Any, Final

import attrs

from kinetic_core.model.job import JobState, JobStatus
from kinetic_gke.diagnosis.look import Json, Look, container_statuses, holding, phase, worker_status
from kinetic_gke.manifest.pod import WORKER

_DELETED: Final = "PodDeleted"
_DEADLINE: Final = "DeadlineExceeded"
_KILLED: Final = 137
# Of a Job: that a pod failed too often, not why.
_SAYS_NOTHING: Final = frozenset(("BackoffLimitExceeded", "FailedIndexes", "MaxFailedIndexesExceeded"))
_OF_SIGNALS: Final = 128
_DISRUPTIONS: Final[Mapping[str, tuple[JobStatus, str]]] = {
    "PreemptionByScheduler": (JobStatus.PREEMPTED, "preempted: a pod of higher priority took its place"),
    "TerminationByKubelet": (
        JobStatus.PREEMPTED,
        "preempted: its node was shut down, as spot nodes are when they are reclaimed",
    ),
    "EvictionByEvictionAPI": (JobStatus.PREEMPTED, "evicted: its node was drained, for an upgrade or to save nodes"),
    "DeletionByTaintManager": (JobStatus.FAILED, "its node was lost: it no longer answered"),
    "DeletionByPodGC": (JobStatus.FAILED, "its node was lost: it is no more"),
}
_TAKINGS: Final[Mapping[str, str]] = {
    "Preempted": "PreemptionByScheduler",
    "TaintManagerEviction": "DeletionByTaintManager",
}
TAKING: Final = tuple(_TAKINGS)
"""Reasons of events that say by what a pod was taken away."""


def needs_takings(look: Look) -> bool:
    """Tell whether a job failed, and none of its pods is left to say why."""
    return look.index is None and look.condition("Failed") is not None and not any(map(pod_failure, look.pods))


def failed_state(look: Look, condition: Json) -> JobState:
    """Return the state of a job whose Job, or index, has failed.

    Args:
        look: At the job.
        condition: The Job's `Failed`, or an empty one.
    """
    told = _of_hosts(look)
    if told is not None:
        return told
    for pod in reversed(look.pods):
        state = pod_failure(pod)
        if state is not None:
            return state
    if look.takings:
        event = look.takings[-1]
        status, text = _DISRUPTIONS[_TAKINGS[str(event["reason"])]]
        return JobState(status=status, reason=f"{text} ({event.get('message', '')})")
    reason, message = str(condition.get("reason", "")), str(condition.get("message", ""))
    if reason in _SAYS_NOTHING:
        text = "a pod of it is gone, deleted from outside or with its node, and is not there to say why"
        return JobState(status=JobStatus.FAILED, reason=f"{text} ({reason})")
    return JobState(
        status=JobStatus.FAILED, reason=f"{reason}: {message}".strip(": ") or "it failed, and no pod is left"
    )


def _of_hosts(look: Look) -> JobState | None:
    """Return what the lowest host says that failed by itself; the cluster then ended the others."""
    failures = {}
    for host in range(look.hosts) if look.hosts > 1 else ():
        for pod in look.of_host(host):
            state = pod_failure(pod) if _ended_by_itself(pod) else None
            if state is not None:
                failures[host] = state
    if not failures:
        return None
    first, *others = failures
    too = f"; also failed: {', '.join(f'host {host}' for host in others)}" if others else ""
    reason = f"host {first}: {failures[first].reason}{too}"
    return attrs.evolve(failures[first], reason=reason, failed_host=first, also_failed=tuple(others))


def _ended_by_itself(pod: Json) -> bool:
    """Tell whether a pod did not end because its job did: others of its hosts failed, or the time was up for all."""
    if holding(pod, "DisruptionTarget") is not None:
        return True
    reason = (pod.get("status") or {}).get("reason")
    return reason not in {_DELETED, _DEADLINE} and not pod["metadata"].get("deletionTimestamp")


def pod_failure(pod: Json) -> JobState | None:
    """Return how a pod failed; `None` where it did not."""
    status = pod.get("status") or {}
    disruption = holding(pod, "DisruptionTarget")
    ended = worker_status(pod).get("terminated") or {}
    code = ended.get("exitCode")
    if phase(pod) == "Succeeded" or (phase(pod) != "Failed" and disruption is None and not code):
        return None
    reason = str(status.get("reason") or "")
    if reason == _DEADLINE:
        limit = pod["spec"].get("activeDeadlineSeconds")
        return JobState(status=JobStatus.FAILED, reason=f"timed out after {limit} s", exit_code=code)
    if reason == "Evicted":
        return JobState(
            status=JobStatus.FAILED, reason=f"evicted: {str(status.get('message', '')).strip()}", exit_code=code
        )
    if disruption is not None:
        return _disrupted(disruption, code)
    if reason == _DELETED:
        return JobState(status=JobStatus.FAILED, reason="its pod was deleted from outside", exit_code=code)
    return _exited(pod, ended)


def departed(pod: Json) -> Json:
    """Return a pod that is no more, as it was last: one that had not ended has failed with that."""
    status = pod.get("status") or {}
    if phase(pod) in {"Succeeded", "Failed"}:
        return pod
    return {**pod, "status": {**status, "phase": "Failed", "reason": status.get("reason") or _DELETED}}


def _disrupted(disruption: Json, code: int | None) -> JobState:
    reason, message = str(disruption.get("reason", "")), str(disruption.get("message", ""))
    status, text = _DISRUPTIONS.get(reason, (JobStatus.FAILED, f"disrupted: {reason}"))
    return JobState(status=status, reason=f"{text} ({message})" if message else text, exit_code=code)


def _exited(pod: Json, ended: Mapping[str, Any]) -> JobState:
    if not ended:
        return JobState(status=JobStatus.FAILED, reason=_before_the_worker(pod))
    code = int(ended.get("exitCode", 0))
    return JobState(status=JobStatus.FAILED, reason=_exit_reason(pod, ended, code), exit_code=code)


def _exit_reason(pod: Json, ended: Mapping[str, Any], code: int) -> str:
    reason = ended.get("reason")
    if reason == "OOMKilled":
        return f"OOMKilled: it used more memory than {_memory(pod)}; ask for more with KINETIC_GKE_MEMORY"
    if reason in {"StartError", "ContainerCannotRun"}:
        return f"its command could not be started: {ended.get('message', '')}"
    if code <= _OF_SIGNALS:
        return f"exited with code {code}"
    try:
        name = signal.Signals(code - _OF_SIGNALS).name
    except ValueError:
        return f"exited with code {code}"
    return f"killed by {name}, possibly out of memory" if code == _KILLED else f"killed by {name}"


def _memory(pod: Json) -> str:
    for container in pod["spec"].get("containers") or []:
        if container["name"] == WORKER:
            asked = container.get("resources") or {}
            limit = (asked.get("limits") or {}).get("memory") or (asked.get("requests") or {}).get("memory")
            return f"its {limit}" if limit else "its node had to spare"
    return "its node had to spare"


def _before_the_worker(pod: Json) -> str:
    """Return why a pod failed whose worker never ran."""
    for status in container_statuses(pod):
        ended = (status.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            said = f": {ended['message']}" if ended.get("message") else ""
            return f"its container {status['name']!r} exited with code {ended['exitCode']}{said}"
    told = pod.get("status") or {}
    return f"{told.get('reason', '')}: {told.get('message', '')}".strip(": ") or "its pod failed before it ran"
