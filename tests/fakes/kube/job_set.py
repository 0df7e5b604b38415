"""The controller of JobSets: several Jobs that start, fail and succeed as one."""

import copy
import hashlib
from typing import Any, Final

from tests.fakes.kube.defaults import fill_in
from tests.fakes.kube.deletion import ask_to_go
from tests.fakes.kube.follower import Follower
from tests.fakes.kube.objects import Obj, holds, is_deleted, labels_of, name_of, now, set_condition
from tests.fakes.kube.store import Key

SETS: Final = "jobsets.jobset.x-k8s.io"
PREFIX: Final = "jobset.sigs.k8s.io"
ATTEMPT: Final = f"{PREFIX}/restart-attempt"


class JobSetController(Follower):
    """Follows JobSets and their Jobs."""

    sets = SETS
    parts = "jobs.batch"
    label = f"{PREFIX}/jobset-name"

    def _sync(self, key: Key, found: Obj) -> None:
        status = found.get("status") or {}
        attempt = str(status.get("restarts", 0))
        owned = [job for job in self._store.objects("jobs.batch", key.namespace) if _is_of(job, found)]
        jobs = {name_of(job): job for job in owned if labels_of(job)[ATTEMPT] == attempt and not is_deleted(job)}
        for job in owned:
            if name_of(job) not in jobs or (status.get("terminalState") and not _is_over(job)):
                ask_to_go(self._store, Key("jobs.batch", key.namespace, name_of(job)), "Foreground")
        if status.get("terminalState"):
            return
        failed = next((job for job in jobs.values() if holds(job, "Failed")), None)
        if failed is not None:
            self._fail(key, found, name_of(failed), jobs)
        elif _succeeded(found, jobs):
            ended = {"terminalState": "Completed"}
            self._write(key, jobs, ended, ("Completed", "AllJobsCompleted", "jobset completed successfully"))
        else:
            if not {name_of(job) for job in owned} - jobs.keys():
                self._create(key, found, attempt, jobs)
            self._write(key, jobs, {})

    def _fail(self, key: Key, found: Obj, first: str, jobs: dict[str, Obj]) -> None:
        restarts = (found.get("status") or {}).get("restarts", 0)
        whose = f"(first failed job: {first})"
        if restarts < (found["spec"].get("failurePolicy") or {}).get("maxRestarts", 0):
            told = f"applying RestartJobSet failure policy action {whose}"
            counts = {"restarts": restarts + 1, "restartsCountTowardsMax": restarts + 1}
            self._write(key, jobs, counts, ("RestartingJobSet", "DefaultFailurePolicy", told))
            return
        if restarts:
            told = f"jobset failed due to reaching max number of restarts {whose}"
            reason = "ReachedMaxRestarts"
        else:
            told, reason = f"jobset failed due to one or more job failures {whose}", "FailedJobs"
        self._write(key, jobs, {"terminalState": "Failed"}, ("Failed", reason, told))

    def _create(self, key: Key, found: Obj, attempt: str, jobs: dict[str, Obj]) -> None:
        in_order = (found["spec"].get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
        for group in found["spec"]["replicatedJobs"]:
            for index in range(group.get("replicas", 1)):
                job = _job_of(found, group, index, attempt)
                if name_of(job) not in jobs:
                    fill_in("jobs.batch", job)
                    at = Key("jobs.batch", key.namespace, name_of(job))
                    jobs[name_of(job)] = self._store.create(at, job)
            if in_order and not all(_has_started(job) for job in jobs.values()):
                return

    def _write(self, key: Key, jobs: dict[str, Obj], more: Obj, condition: tuple[str, str, str] | None = None) -> None:
        def write(obj: Obj) -> None:
            status = obj.setdefault("status", {})
            groups = [group["name"] for group in obj["spec"]["replicatedJobs"]]
            status["replicatedJobsStatus"] = [_counted(name, jobs) for name in groups]
            status.setdefault("restarts", 0)
            status |= more
            if condition is None:
                return
            kind, reason, message = condition
            if kind == "Failed" and holds(obj, "RestartingJobSet"):
                _set(obj, "RestartingJobSet", "False", "JobSetFailed", "jobset failed")
            _set(obj, kind, "True", reason, message)

        self._store.update(key, write)


def _set(obj: Obj, kind: str, status: str, reason: str, message: str) -> None:
    told = {"lastTransitionTime": now(), "message": message, "reason": reason, "status": status, "type": kind}
    set_condition(obj, told)


def _is_of(job: Obj, found: Obj) -> bool:
    return bool(labels_of(job).get(f"{PREFIX}/jobset-uid") == found["metadata"]["uid"])


def _is_over(job: Obj) -> bool:
    return holds(job, "Complete") or holds(job, "Failed")


def _has_started(job: Obj) -> bool:
    status = job["status"]
    return _is_over(job) or bool(status.get("ready", 0) + status.get("succeeded", 0) >= job["spec"]["parallelism"])


def _succeeded(found: Obj, jobs: dict[str, Obj]) -> bool:
    policy = found["spec"].get("successPolicy") or {}
    groups = found["spec"]["replicatedJobs"]
    targets = policy.get("targetReplicatedJobs") or [group["name"] for group in groups]
    wanted = sum(group.get("replicas", 1) for group in groups if group["name"] in targets)
    done = sum(
        holds(job, "Complete") and labels_of(job)[f"{PREFIX}/replicatedjob-name"] in targets for job in jobs.values()
    )
    return done >= (1 if policy.get("operator") == "Any" else wanted)


def _counted(name: str, jobs: dict[str, Obj]) -> Obj:
    mine = [job for job in jobs.values() if labels_of(job)[f"{PREFIX}/replicatedjob-name"] == name]
    return {
        "active": sum(bool(job["status"].get("active")) for job in mine),
        "failed": sum(holds(job, "Failed") for job in mine),
        "name": name,
        "ready": sum(not _is_over(job) and _has_started(job) for job in mine),
        "succeeded": sum(holds(job, "Complete") for job in mine),
        "suspended": sum(bool(job["spec"]["suspend"]) for job in mine),
    }


def _job_of(found: Obj, group: Obj, index: int, attempt: str) -> Obj:
    """Return one of the set's Jobs, not filled in yet."""
    groups = found["spec"]["replicatedJobs"]
    name, total = f"{name_of(found)}-{group['name']}-{index}", sum(each.get("replicas", 1) for each in groups)
    before = sum(each.get("replicas", 1) for each in groups[: groups.index(group)])
    known: dict[str, Any] = {
        "global-replicas": total,
        "group-name": group.get("groupName", "default"),
        "group-replicas": total,
        "job-global-index": before + index,
        "job-group-index": before + index,
        "job-index": index,
        "job-key": hashlib.sha1(f"{found['metadata']['namespace']}/{name}".encode()).hexdigest(),
        "jobset-name": name_of(found),
        "jobset-uid": found["metadata"]["uid"],
        "replicatedjob-name": group["name"],
        "replicatedjob-replicas": group.get("replicas", 1),
        "restart-attempt": attempt,
    }
    marks = {f"{PREFIX}/{key}": str(value) for key, value in known.items()}
    owner = {"apiVersion": found["apiVersion"], "kind": "JobSet", "name": name_of(found), "uid": known["jobset-uid"]}
    template = copy.deepcopy(group["template"])
    _mark(template, marks)
    _mark(template["spec"]["template"], marks)
    subdomain = (found["spec"].get("network") or {}).get("subdomain") or name_of(found)
    template["spec"]["template"]["spec"].setdefault("subdomain", subdomain)
    place = {"name": name, "namespace": found["metadata"]["namespace"]}
    owned = {"ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}]}
    metadata = {**template["metadata"], **place, **owned}
    spec = {**template["spec"], "suspend": bool(found["spec"].get("suspend"))}
    return {"kind": "Job", "apiVersion": "batch/v1", "metadata": metadata, "spec": spec}


def _mark(template: Obj, marks: dict[str, str]) -> None:
    metadata = template.setdefault("metadata", {})
    for kind in ("labels", "annotations"):
        metadata[kind] = {**(metadata.get(kind) or {}), **marks}
