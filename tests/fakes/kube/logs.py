"""The log endpoint of pods."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from tests.fakes.kube.answers import Refusal, bad_request
from tests.fakes.kube.kubelet import Kubelet
from tests.fakes.kube.log_file import LogFile
from tests.fakes.kube.objects import Obj, moment, name_of

_NOT_YET: Final = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}
_TRUE: Final = {"1", "true", "True"}


def log_of(kubelet: Kubelet, pod: Obj, query: dict[str, str]) -> LogFile | None:
    """Return the log that is asked for; None where the pod has no node yet.

    Raises:
        Refusal: The container is unknown, not started, or on a node that does not answer.
    """
    name = _container(pod, query.get("container", ""))
    if not pod["spec"].get("nodeName"):
        return None
    worker = kubelet.worker(pod)
    if worker is None or worker.silenced:
        where = f"https://127.0.0.1:10250/containerLogs/{pod['metadata']['namespace']}/{name_of(pod)}/{name}"
        message = f'Get "{where}": dial tcp 127.0.0.1:10250: i/o timeout'
        raise Refusal(code=500, reason="InternalError", message=message)
    if query.get("previous") in _TRUE:
        previous = worker.previous.get(name)
        if previous is None:
            raise bad_request(f'previous terminated container "{name}" in pod "{name_of(pod)}" not found')
        return previous
    log = worker.logs.get(name)
    if log is None:
        why = _waiting(pod, name)
        raise bad_request(f'container "{name}" in pod "{name_of(pod)}" is waiting to start: {_NOT_YET.get(why, why)}')
    return log


def _container(pod: Obj, asked: str) -> str:
    main = [str(each["name"]) for each in pod["spec"]["containers"]]
    initial = [str(each["name"]) for each in pod["spec"].get("initContainers") or []]
    if asked:
        if asked not in main + initial:
            raise bad_request(f"container {asked} is not valid for pod {name_of(pod)}")
        return asked
    if len(main) > 1:
        told = f"a container name must be specified for pod {name_of(pod)}, choose one of: [{' '.join(main)}]"
        if initial:
            told += f" or one of the init containers: [{' '.join(initial)}]"
        raise bad_request(told)
    return main[0]


def _waiting(pod: Obj, name: str) -> str:
    status = pod["status"]
    for each in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        if each["name"] == name and "waiting" in each["state"]:
            return str(each["state"]["waiting"]["reason"])
    return "ContainerCreating"


def pieces(log: LogFile, query: dict[str, str], is_heard: Callable[[], bool]) -> Iterator[bytes]:
    """Yield the log's lines, the ones to come too where they are asked for."""
    follow, timestamps = query.get("follow") in _TRUE, query.get("timestamps") in _TRUE
    tail = int(query["tailLines"]) if "tailLines" in query else None
    left = int(query["limitBytes"]) if "limitBytes" in query else None
    position = log.start(tail=tail, since=_since(query))
    while True:
        closed = log.is_closed
        lines = log.after(position, 0.2 if follow else 0)
        position += len(lines)
        for line in lines:
            text = line.shown(timestamps=timestamps)[:left]
            if left is not None:
                left -= len(text)
            if text:
                yield text
        if not follow or left == 0 or (closed and not lines) or not is_heard():
            return


def _since(query: dict[str, str]) -> float | None:
    if "sinceSeconds" in query:
        return time.time() - int(query["sinceSeconds"])
    return moment(query["sinceTime"]) if "sinceTime" in query else None
