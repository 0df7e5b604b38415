"""One pod's life on its node, from the first status to the last."""

import shutil
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tests.fakes.kube.container import Container
from tests.fakes.kube.environment import ConfigError, MountError, Sandbox
from tests.fakes.kube.log_file import LogFile
from tests.fakes.kube.objects import Obj, is_deleted
from tests.fakes.kube.pod_status import StatusWriter, container_status
from tests.fakes.kube.store import Key

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.kube.kubelet import Kubelet

COMPONENT: Final = "kubelet"
DISRUPTION: Final = "DisruptionTarget"


class PodWorker:
    """A thread that takes one pod through its states, one write of its status a state."""

    def __init__(self, kubelet: "Kubelet", key: Key, pod: Obj) -> None:
        self._kubelet = kubelet
        self.key = key
        self.pod = pod
        self.uid: str = pod["metadata"]["uid"]
        self.deleted = threading.Event()
        self.changed = threading.Event()
        self.silenced = False
        self._spec: Obj = pod["spec"]
        self._init_specs: list[Obj] = self._spec.get("initContainers") or []
        self._volumes: dict[str, Path] = {}
        self.running: dict[str, Container] = {}
        self.logs: dict[str, LogFile] = {}
        self.previous: dict[str, LogFile] = {}
        self._restarts: dict[str, int] = {}
        self._last: dict[str, Obj] = {}
        self._waiting: dict[str, Obj] = {}
        self._initialized = not self._init_specs
        self._ready_to_start = False
        self._ending: tuple[str, str] | None = None
        self._ending_grace_s = 0
        self._writer = StatusWriter([each["name"] for each in self._init_specs])
        root = kubelet.root / self.uid
        self._sandbox = Sandbox(store=kubelet.store, root=root, buckets=kubelet.buckets, images=kubelet.images)
        self.thread = threading.Thread(target=self._live, name=f"pod {key.name}", daemon=True)

    def _live(self) -> None:
        try:
            self._run()
        finally:
            for container in self.running.values():
                container.kill()
            self._finish_deletion()
            shutil.rmtree(self._sandbox.root, ignore_errors=True)

    def _run(self) -> None:
        self._pause()
        self._write("Pending")
        self._kubelet.limit(self)
        self._pause()
        if not self._set_up():
            self._write("Failed")
            return
        self._ready_to_start = True
        self._write("Pending")
        if self._start_init() and self._start_main():
            self._watch_main()
        self._end()

    def _leaves(self) -> bool:
        return self.deleted.is_set() or self._ending is not None

    def _pause(self) -> None:
        if not self.silenced:
            self.deleted.wait(self._kubelet.pace.lag_s)

    def _write(self, phase: str, *, as_running: bool = False) -> None:
        if self.silenced:
            return
        reason, message = self._ending or (None, None)
        write = self._writer.writer(
            phase=phase,
            statuses=[self._status(each, as_running=as_running) for each in self._spec["containers"]],
            init_statuses=[self._status(each) for each in self._init_specs],
            ready_to_start=self._ready_to_start,
            initialized=self._initialized,
            reason=reason,
            message=message,
        )
        kept = self._kubelet.write(self.key, self.uid, write)
        self.pod = kept or self.pod

    def _status(self, spec: Obj, *, as_running: bool = False) -> Obj:
        name = spec["name"]
        container = self.running.get(name)
        waiting = self._waiting.get(name)
        if container is None and waiting is None and self._init_specs and spec not in self._init_specs:
            waiting = {"reason": "PodInitializing"}
        return container_status(
            spec,
            container,
            waiting=waiting,
            restarts=self._restarts.get(name, 0),
            last=self._last.get(name),
            as_running=as_running,
        )

    def _set_up(self) -> bool:
        """Mount the volumes and pull the images, as long as it takes; False when the pod is deleted meanwhile."""
        return self._mounted() and all(self._pulled(each) for each in [*self._init_specs, *self._spec["containers"]])

    def _mounted(self) -> bool:
        while not self._leaves():
            fault = self._kubelet.faults.of(self.pod, "mount")
            try:
                self._volumes = self._sandbox.mount(self.pod)
                if fault is None:
                    return True
                told = str(fault["message"])
            except MountError as error:
                told = str(error)
            self._tell("FailedMount", told, warning=True)
            self.deleted.wait(self._kubelet.pace.backoff_s)
        return False

    def _pulled(self, spec: Obj) -> bool:
        image, name = spec["image"], spec["name"]
        path = self._path(spec)
        while not self._leaves():
            fault = self._kubelet.faults.of(self.pod, "image_pull")
            if fault is None:
                self._waiting.pop(name, None)
                told = f'Container image "{image}" already present on machine and can be accessed by the pod'
                self._tell("Pulled", told, path=path)
                return True
            self._tell("Pulling", f'Pulling image "{image}"', path=path)
            why = f'Failed to pull image "{image}": {fault["message"]}'
            self._tell("Failed", why, warning=True, path=path)
            self._tell("Failed", "Error: ErrImagePull", warning=True, path=path)
            self._wait_with(name, "ErrImagePull", fault["message"])
            self._tell("BackOff", f'Back-off pulling image "{image}"', path=path)
            self._wait_with(
                name, "ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {fault["message"]}'
            )
        return False

    def _wait_with(self, name: str, reason: str, message: str) -> None:
        self._waiting[name] = {"reason": reason, "message": message}
        self._write("Pending")
        self.deleted.wait(self._kubelet.pace.backoff_s)

    def _start(self, spec: Obj) -> bool:
        """Start one container as soon as its configuration is there; False when the pod is deleted meanwhile."""
        name = spec["name"]
        while not self._leaves():
            fault = self._kubelet.faults.of(self.pod, "config")
            start, told = None, str(fault["message"]) if fault else ""
            try:
                start = self._sandbox.start(self.pod, spec, self._volumes)
            except ConfigError as error:
                told = str(error)
            if start is None or told:
                self._tell("Failed", f"Error: {told}", warning=True, path=self._path(spec))
                self._wait_with(name, "CreateContainerConfigError", told)
                continue
            self._waiting.pop(name, None)
            self.logs[name] = LogFile(self._kubelet.rotate_every)
            container = Container(spec, self.logs[name])
            self.running[name] = container
            self._tell("Created", "Container created", path=self._path(spec))
            container.start(start, self.changed.set)
            self._tell("Started", "Container started", path=self._path(spec))
            return True
        return False

    def _start_init(self) -> bool:
        for spec in self._init_specs:
            if not self._start(spec):
                return False
            self._write("Pending")
            if spec.get("restartPolicy") == "Always":
                continue
            if not self._await(spec):
                return False
        if self._init_specs:
            self._initialized = True
            self._write("Pending")
        return True

    def _await(self, spec: Obj) -> bool:
        """Wait until an init container ended well; it is started again where the pod's policy says so."""
        while True:
            container = self.running[spec["name"]]
            self._wait_for(container.is_over)
            if container.ended is None:
                return False
            if container.ended["exitCode"] == 0:
                return True
            if self._spec["restartPolicy"] == "Never" or not self._restart(spec):
                return False

    def _restart(self, spec: Obj) -> bool:
        name = spec["name"]
        ended = self.running[name].ended
        self._restarts[name] = self._restarts.get(name, 0) + 1
        self._last[name] = ended or {}
        self.previous[name] = self.logs[name]
        message = f"back-off restarting failed container={name} pod={self.key.name}"
        self._tell("BackOff", message, warning=True, path=self._path(spec))
        self._waiting[name] = {"reason": "CrashLoopBackOff", "message": message}
        self._write("Running" if self._initialized else "Pending")
        self.deleted.wait(self._kubelet.pace.backoff_s)
        return self._start(spec)

    def _start_main(self) -> bool:
        if not all(self._start(each) for each in self._spec["containers"]):
            return False
        # A quick process may be over by now; its pod was seen to run all the same.
        self._write("Running", as_running=True)
        self._pause()
        self._kubelet.arm(self)
        return True

    def _main(self) -> list[Container]:
        return [self.running[each["name"]] for each in self._spec["containers"] if each["name"] in self.running]

    def _watch_main(self) -> None:
        """Follow the containers until none is left, or the pod has to go."""
        while not self._wait_for(lambda: any(each.is_over() for each in self._main())):
            return
        while not self._leaves():
            again = [each for each in self._main() if each.ended and self._comes_back(each)]
            for container in again:
                self._restart(container.spec)
                self._write("Running")
            if all(each.ended and not self._comes_back(each) for each in self._main()):
                break
            self._write("Running")
            self.changed.wait(0.1)
            self.changed.clear()

    def _comes_back(self, container: Container) -> bool:
        policy = self._spec["restartPolicy"]
        bad = container.ended is not None and container.ended["exitCode"] != 0
        return bool(policy == "Always" or (policy == "OnFailure" and bad))

    def _wait_for(self, condition: Callable[[], bool]) -> bool:
        while not condition():
            if self._leaves():
                return False
            self.changed.wait(0.2)
            self.changed.clear()
        return True

    def kill(self, reason: str | None = None) -> None:
        """Kill what runs of the pod; the reason given is what the statuses show."""
        for container in self.running.values():
            if container.runs:
                container.kill(reason)

    def silence(self) -> None:
        """Let the node be lost: its processes are gone, and nobody tells."""
        self.silenced = True
        self.deleted.set()
        self.changed.set()
        self.kill()

    def end_because(self, reason: str, message: str, *, grace_s: int = 0) -> None:
        """Make the pod fail for a reason outside of its containers, which get that long to end."""
        self._ending = (reason, message)
        self._ending_grace_s = grace_s
        self.changed.set()

    def _end(self) -> None:
        if self.deleted.is_set() and self._ending is None:
            self._stop_containers(self.pod["metadata"].get("deletionGracePeriodSeconds") or 0)
        elif self._ending is not None:
            self._stop_containers(self._ending_grace_s)
        else:
            self._write("Running" if self._initialized else "Pending")
            for container in self.running.values():
                container.stop(1)
        self._pause()
        self._ready_to_start = False
        good = self._ending is None and self._initialized and self._main_ended_well()
        self._write("Succeeded" if good else "Failed")

    def _main_ended_well(self) -> bool:
        main = self._main()
        ends = [each.ended for each in main]
        return len(main) == len(self._spec["containers"]) and all(end and end["exitCode"] == 0 for end in ends)

    def _stop_containers(self, grace: int) -> None:
        for container in self.running.values():
            if container.runs:
                self._tell("Killing", f"Stopping container {container.spec['name']}", path=self._path(container.spec))
        self._write("Running" if self._initialized else "Pending")
        for container in self.running.values():
            container.stop(grace * self._kubelet.pace.second_s)

    def _finish_deletion(self) -> None:
        """Let a pod go for good whose deletion waited for its containers."""
        if self.silenced or self._kubelet.is_stopped:
            return
        self._pause()
        current = self._kubelet.store.get(self.key)
        if current is not None and current["metadata"]["uid"] == self.uid and is_deleted(current):
            self._kubelet.remove_pod(self.key)

    def _tell(self, reason: str, message: str, *, warning: bool = False, path: str | None = None) -> None:
        if not self.silenced:
            tell = self._kubelet.recorder.tell
            tell(self.pod, reason, message, component=COMPONENT, warning=warning, field_path=path)

    def _path(self, spec: Obj) -> str:
        kind = "initContainers" if spec in self._init_specs else "containers"
        return f"spec.{kind}{{{spec['name']}}}"
