"""One namespace through the official client, as plain JSON and with patience."""

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from kubernetes import client

from tests.fakes.kube.objects import Obj, holds

T = TypeVar("T")
PATIENCE_S: Final = 60.0


def until(look: Callable[[], T], *, why: str = "") -> T:
    """Look again and again until what is seen is true; return it."""
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end, f"waited {PATIENCE_S} s in vain: {why}"
        time.sleep(0.02)
    return found


class Room:
    """What tests do in their namespace."""

    def __init__(self, api: client.ApiClient, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        # Untyped: the two generations of the client take and give other types.
        self.batch: Any = client.BatchV1Api(api)
        self.core: Any = client.CoreV1Api(api)

    def plain(self, model: Any) -> Obj:
        """Return an answer as the JSON that it was."""
        found: Obj = self.api.sanitize_for_serialization(model)
        return found

    def create(self, job: Obj) -> Obj:
        """Create a Job."""
        return self.plain(self.batch.create_namespaced_job(self.namespace, job))

    def job(self, name: str) -> Obj:
        """Return a Job."""
        return self.plain(self.batch.read_namespaced_job(name, self.namespace))

    def pods(self, job: str) -> list[Obj]:
        """Return the pods of a Job, in the order of their creation, as far as seconds tell."""
        selector = f"batch.kubernetes.io/job-name={job}"
        found = self.plain(self.core.list_namespaced_pod(self.namespace, label_selector=selector))["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def pod(self, job: str, phase: str | None = None) -> Obj:
        """Return the Job's only pod, once it is there, and in the phase."""

        def look() -> Obj | None:
            found = self.pods(job)
            return found[0] if len(found) == 1 and phase in {None, found[0]["status"]["phase"]} else None

        found = until(look, why=f"pod of {job} in {phase}")
        assert found is not None
        return found

    def finished(self, name: str) -> Obj:
        """Return the Job once it is complete or failed."""

        def look() -> Obj | None:
            job = self.job(name)
            return job if holds(job, "Complete") or holds(job, "Failed") else None

        found = until(look, why=f"the end of {name}")
        assert found is not None
        return found

    def log(self, pod: str, **options: Any) -> str:
        """Return a pod's log, undecoded by the client: 36.x would return the text `b'…'`."""
        reply = self.core.read_namespaced_pod_log(pod, self.namespace, _preload_content=False, **options)
        try:
            return str(reply.data.decode())
        finally:
            reply.release_conn()

    def reasons(self) -> set[str]:
        """Return the reasons of the namespace's events."""
        return {str(event["reason"]) for event in self.events()}

    def events(self) -> list[Obj]:
        """Return the namespace's events."""
        found: list[Obj] = self.plain(self.core.list_namespaced_event(self.namespace))["items"]
        return found


def reason_of(job: Obj) -> str:
    """Return the reason of the Job's last condition."""
    return str(job["status"]["conditions"][-1]["reason"])
