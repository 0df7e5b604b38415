"""The controller of LeaderWorkerSets: groups of pods, each a leader and its workers, that start again as one."""

import copy
import hashlib
from typing import Final

from tests.fakes.kube import job_pods
from tests.fakes.kube.defaults import pod_defaults
from tests.fakes.kube.deletion import stop_pod
from tests.fakes.kube.follower import Follower
from tests.fakes.kube.objects import Obj, is_deleted, name_of, now, set_condition
from tests.fakes.kube.store import Key, TakenError

SETS: Final = "leaderworkersets.leaderworkerset.x-k8s.io"
PREFIX: Final = "leaderworkerset.sigs.k8s.io"
TPU: Final = "google.com/tpu"
TPU_PORT: Final = 8476


class LeaderWorkerController(Follower):
    """Follows the sets and their pods. Its stateful sets are there to be seen and to own; it makes the pods itself."""

    sets = SETS
    parts = "pods"
    label = f"{PREFIX}/name"

    def _sync(self, key: Key, found: Obj) -> None:
        size = found["spec"]["leaderWorkerTemplate"].get("size", 1)
        if not found.get("status"):
            self._write(key, {})
        top = self._stateful(key, key.name, _owner(found, found["apiVersion"]), found)
        ready = [
            self._group(found, top, Group(found, index, size)) for index in range(found["spec"].get("replicas", 1))
        ]
        counts: Obj = {"replicas": len(ready), "updatedReplicas": len(ready)}
        self._write(key, {**({"readyReplicas": sum(ready)} if any(ready) else {}), **counts})

    def _group(self, found: Obj, top: Obj, group: "Group") -> bool:
        """Make what of the group is missing; tells whether all of it is ready."""
        namespace = found["metadata"]["namespace"]
        leader = self._pod(namespace, group.pod(0, top))
        if is_deleted(leader):
            return False
        below = self._stateful(Key(SETS, namespace, ""), group.name, _owner(leader, "v1"), found)
        pods = [leader]
        if found["spec"].get("startupPolicy") != "LeaderReady" or job_pods.is_ready(leader):
            pods += [self._pod(namespace, group.pod(index, below)) for index in range(1, group.size)]
        policy = found["spec"]["leaderWorkerTemplate"].get("restartPolicy")
        if policy == "RecreateGroupOnPodRestart" and any(map(_began_again, pods)):
            stop_pod(self._store, Key("pods", namespace, group.name))
        return len(pods) == group.size and all(map(job_pods.is_ready, pods))

    def _pod(self, namespace: str, pod: Obj) -> Obj:
        key = Key("pods", namespace, name_of(pod))
        try:
            return self._store.create(key, pod)
        except TakenError:
            return self._store.get(key) or pod

    def _stateful(self, key: Key, name: str, owner: Obj, found: Obj) -> Obj:
        at = Key("statefulsets.apps", key.namespace, name)
        existing = self._store.get(at)
        if existing is not None:
            return existing
        template = found["spec"]["leaderWorkerTemplate"]["workerTemplate"]
        labels = {f"{PREFIX}/name": name_of(found)}
        body: Obj = {
            "kind": "StatefulSet",
            "apiVersion": "apps/v1",
            "metadata": {"name": name, "namespace": key.namespace, "labels": labels, "ownerReferences": [owner]},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "serviceName": name_of(found)},
            "status": {"replicas": 1},
        }
        body["spec"]["template"] = copy.deepcopy(template)
        return self._store.create(at, body)

    def _write(self, key: Key, counts: Obj) -> None:
        def write(obj: Obj) -> None:
            wanted = obj["spec"].get("replicas", 1)
            done = counts.get("readyReplicas", 0) == wanted
            old = obj.get("status") or {}
            selector = f"{PREFIX}/name={key.name},{PREFIX}/worker-index=0"
            fixed = {"hpaPodSelector": selector, "observedGeneration": obj["metadata"]["generation"]}
            obj["status"] = {"conditions": list(old.get("conditions") or []), **fixed, **counts}
            _condition(obj, "Progressing", "GroupsProgressing", "Replicas are progressing", holds=not done)
            if done or any(each["type"] == "Available" for each in obj["status"]["conditions"]):
                _condition(obj, "Available", "AllGroupsReady", "All replicas are ready", holds=done)

        self._store.update(key, write)


class Group:
    """One group of a set: how its pods are named, and what they know of one another."""

    def __init__(self, found: Obj, index: int, size: int) -> None:
        self._set = found
        self._index = index
        self.size = size
        self.name = f"{name_of(found)}-{index}"
        self._domain = name_of(found)
        self._key = hashlib.sha1(f"{found['metadata']['namespace']}/{self.name}".encode()).hexdigest()

    def _member(self, index: int) -> str:
        return self.name if index == 0 else f"{self.name}-{index}"

    def pod(self, index: int, owner: Obj) -> Obj:
        """Return one of the group's pods; the first leads."""
        templates = self._set["spec"]["leaderWorkerTemplate"]
        worker = templates["workerTemplate"]
        template = copy.deepcopy(templates.get("leaderTemplate", worker) if index == 0 else worker)
        given = template.get("metadata") or {}
        name = self._member(index)
        labels = {
            f"{PREFIX}/group-index": str(self._index),
            f"{PREFIX}/group-key": self._key,
            f"{PREFIX}/name": name_of(self._set),
            f"{PREFIX}/template-revision-hash": self._key[:10],
            f"{PREFIX}/worker-index": str(index),
            "apps.kubernetes.io/pod-index": str(index or self._index),
            "controller-revision-hash": f"{name_of(owner)}-{self._key[:9]}",
            "statefulset.kubernetes.io/pod-name": name,
        }
        annotations = {f"{PREFIX}/size": str(self.size)}
        if index:
            annotations[f"{PREFIX}/leader-name"] = self.name
            if _asks_for_tpu(template["spec"]):
                annotations[f"{PREFIX}/leader-requests-tpus"] = "true"
        metadata = {
            "name": name,
            "generateName": name.rpartition("-")[0] + "-",
            "namespace": self._set["metadata"]["namespace"],
            "labels": {**(given.get("labels") or {}), **labels},
            "annotations": {**(given.get("annotations") or {}), **annotations},
            "ownerReferences": [_owner(owner, "apps/v1")],
        }
        spec = {**template["spec"], "hostname": name, "subdomain": self._domain}
        for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
            container["env"] = [*self._variables(index, container), *(container.get("env") or [])]
        pod: Obj = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}
        pod_defaults(pod)
        return pod

    def _variables(self, index: int, container: Obj) -> list[Obj]:
        hosts = [f"{self._member(each)}.{self._domain}" for each in range(self.size)]
        values = {
            "LWS_LEADER_ADDRESS": f"{hosts[0]}.{self._set['metadata']['namespace']}",
            "LWS_GROUP_SIZE": str(self.size),
            "LWS_WORKER_INDEX": str(index),
        }
        if _asks_for_tpu({"containers": [container]}):
            values |= {
                "TPU_WORKER_HOSTNAMES": ",".join(hosts),
                "TPU_WORKER_ID": str(index),
                "TPU_NAME": self.name,
                "TPU_PROCESS_ADDRESSES": ",".join(f"{host}:{TPU_PORT}" for host in hosts),
                "TPU_PROCESS_PORT": str(TPU_PORT),
            }
        return [{"name": name, "value": value} for name, value in values.items()]


def _asks_for_tpu(spec: Obj) -> bool:
    return any(TPU in ((each.get("resources") or {}).get("limits") or {}) for each in spec["containers"])


def _began_again(pod: Obj) -> bool:
    return job_pods.restarts(pod) > 0 or is_deleted(pod) or job_pods.failed(pod)


def _owner(obj: Obj, version: str) -> Obj:
    whose = {"apiVersion": version, "kind": obj["kind"], "name": name_of(obj), "uid": obj["metadata"]["uid"]}
    return {**whose, "controller": True, "blockOwnerDeletion": True}


def _condition(obj: Obj, kind: str, reason: str, message: str, *, holds: bool) -> None:
    status = "True" if holds else "False"
    known = next((each for each in obj["status"]["conditions"] if each["type"] == kind), None)
    if known is None or known["status"] != status:
        generation = obj["metadata"]["generation"]
        told = {"lastTransitionTime": now(), "message": message, "observedGeneration": generation, "reason": reason}
        set_condition(obj, {**told, "status": status, "type": kind})
