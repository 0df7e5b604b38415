"""Why a job does not run yet: the scheduler's, the kubelet's and the controllers' own words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kinetic_core.model.job import BEHIND_OTHERS
from kinetic_gke.diagnosis.look import Json, Look, container_statuses, phase
from kinetic_gke.diagnosis.moment import moment
from kinetic_gke.manifest.names import QUEUE

_PULLING: Final = frozenset(("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"))
# What a registry says for good; anything else may be its bad day, and the kubelet tries again.
_FOR_GOOD: Final = ("not found", "denied", "unauthorized", "forbidden", "manifest unknown", "no match for platform")
_AT_ONCE: Final = frozenset(("InvalidImageName", "ErrImageNeverPull"))
_CONFIG: Final = frozenset(("CreateContainerConfigError", "CreateContainerError", "RunContainerError"))
_STARTING: Final = frozenset(("ContainerCreating", "PodInitializing"))
_NEWS: Final[Mapping[str, str]] = {
    "FailedMount": "a volume cannot be mounted",
    "FailedAttachVolume": "a volume cannot be attached",
    "FailedCreate": "its pod is not admitted",
    "TriggeredScaleUp": "waiting for a new node: the cluster is scaling up",
    "NotTriggerScaleUp": "no node has room for it, and no node pool can be scaled up for it",
    "FailedScaleUp": "no node has room for it, and a new one could not be had",
}
TELLING: Final = tuple(_NEWS)
"""Reasons of events that say why a pod waits."""


def waiting_reason(look: Look, news: Sequence[Json] = ()) -> str:
    """Return why a job waits; empty where nothing is known, or nothing is wrong.

    Args:
        look: At the job.
        news: Events about the Job and its pods.
    """
    if look.job["spec"].get("suspend"):
        return _suspended(look.job)
    pod = next((one for one in reversed(look.pods) if phase(one) == "Pending"), None)
    if pod is None and _waits_its_turn(look):
        return BEHIND_OTHERS
    if pod is None:
        return "" if look.pods else _told(news, ("FailedCreate",))
    if problem := next(_container_problems(pod), ""):
        return problem
    return _unscheduled(pod, news) or _told(news, ("FailedMount", "FailedAttachVolume"))


def wants_news(look: Look) -> bool:
    """Tell whether only events can say why the job waits."""
    if look.job["spec"].get("suspend") or _waits_its_turn(look):
        return False
    waiting = [pod for pod in look.pods if phase(pod) == "Pending"]
    return not look.pods or any(_is_quiet(pod) for pod in waiting)


def hopeless(look: Look) -> str:
    """Return why a job will never start, so that it need not wait for ever; empty where it may.

    A registry's refusal is one: the kubelet would ask again for days, on a node that costs money.
    """
    for pod in look.pods:
        if phase(pod) != "Pending":
            continue
        for name, image, reason, message in _waiting(pod):
            is_final = any(word in message.lower() for word in _FOR_GOOD)
            if reason in _AT_ONCE or (reason in _PULLING and is_final):
                return _pull_problem(name, image, message)
    return ""


def _waits_its_turn(look: Look) -> bool:
    """Tell whether as many jobs of an array run as may, and this one has not begun."""
    active = int((look.job.get("status") or {}).get("active") or 0)
    return look.index is not None and not look.pods and active > 0


def _suspended(job: Json) -> str:
    queue = (job["metadata"].get("labels") or {}).get(QUEUE)
    return f"waiting in the queue {queue!r}" if queue else "suspended"


def _container_problems(pod: Json) -> Iterator[str]:
    for name, image, reason, message in _waiting(pod):
        if reason in _PULLING:
            yield _pull_problem(name, image, message)
        elif reason in _CONFIG:
            yield f"its container {name!r} cannot be made: {message or reason}"


def _waiting(pod: Json) -> Iterator[tuple[str, str, str, str]]:
    for status in container_statuses(pod):
        waiting = (status.get("state") or {}).get("waiting") or {}
        if waiting:
            image, reason = str(status.get("image", "")), str(waiting.get("reason", ""))
            yield str(status["name"]), image, reason, str(waiting.get("message", ""))


def _pull_problem(name: str, image: str, message: str) -> str:
    return f"the image {image!r} of its container {name!r} cannot be pulled: {message}"


def _unscheduled(pod: Json, news: Sequence[Json]) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition["type"] != "PodScheduled" or condition["status"] != "False":
            continue
        if condition.get("reason") == "SchedulingGated":
            return "held back by a scheduling gate"
        text = f"no node has room for it: {condition.get('message', '')}"
        scaling = _told(news, ("TriggeredScaleUp", "NotTriggerScaleUp", "FailedScaleUp"))
        return f"{scaling}; {text}" if scaling else text
    return ""


def _is_quiet(pod: Json) -> bool:
    """Tell whether a pod that waits does not say why itself, or says it in part."""
    if next(_container_problems(pod), ""):
        return False
    states = [reason for _, _, reason, _ in _waiting(pod)]
    return not states or any(reason in _STARTING for reason in states)


def _told(news: Sequence[Json], reasons: tuple[str, ...]) -> str:
    """Return the latest of the events that have one of these reasons."""
    fitting = [one for one in news if one.get("reason") in reasons]
    if not fitting:
        return ""
    last = max(fitting, key=_happened)
    return f"{_NEWS[str(last['reason'])]}: {last.get('message', '')}"


def _happened(event: Json) -> float:
    series = event.get("series") or {}
    at = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return moment(at).timestamp()
