"""The controller of Jobs: makes their pods, counts them, and says how the Job ended."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tests.fakes.kube import job_pods
from tests.fakes.kube.answers import Refusal
from tests.fakes.kube.defaults import JOB_TRACKING, UID_LABEL
from tests.fakes.kube.deletion import ask_to_go, stop_pod
from tests.fakes.kube.job_tally import Tally, Verdict, failure, ranges
from tests.fakes.kube.objects import Obj, controller_of, holds, is_deleted, labels_of, name_of, now, set_condition
from tests.fakes.kube.store import Change, Key

if TYPE_CHECKING:
    from tests.fakes.kube.manager import Components

COMPONENT: Final = "job-controller"
JOBS: Final = "jobs.batch"


class JobController:
    """Follows Jobs and pods; every Job touched by a change is looked at once, after it."""

    def __init__(self, components: "Components", later: Callable[[float, Callable[[], None]], None]) -> None:
        self._store = components.store
        self._tell = components.recorder.tell
        self._admit = components.admit_pod
        self._pace = components.pace
        self._later = later
        self._tallies: dict[str, Tally] = {}
        self._keys: dict[str, Key] = {}
        self._touched: dict[str, None] = {}

    def observe(self, change: Change) -> None:
        """Take note of one step of the history."""
        if change.key.resource == JOBS:
            self._observe_job(change)
        elif change.key.resource == "pods":
            self._observe_pod(change)

    def _observe_job(self, change: Change) -> None:
        uid = change.object["metadata"]["uid"]
        if change.happening == "DELETED":
            self._keys.pop(uid, None)
            tally = self._tallies.pop(uid, None)
            for key in tally.pods if tally else ():
                self._release(key)
            return
        if uid not in self._keys:
            self._keys[uid] = change.key
            self._tallies[uid] = Tally()
        self._touched[uid] = None

    def _observe_pod(self, change: Change) -> None:
        owner = controller_of(change.object)
        uid = owner["uid"] if owner else labels_of(change.object).get(UID_LABEL, "")
        tally = self._tallies.get(uid)
        # As it is by now: what was counted since must not be counted again from an older state.
        pod = self._store.get(change.key)
        if tally is None or owner is None:
            if pod is not None and _tracked(pod):
                self._release(change.key)
            return
        if pod is None or _is_counted_and_over(pod):
            tally.pods.pop(change.key, None)
        else:
            tally.pods[change.key] = pod
        self._touched[uid] = None

    def work(self) -> None:
        """Look at every Job that something happened to."""
        touched, self._touched = self._touched, {}
        for uid in touched:
            key = self._keys.get(uid)
            job = self._store.get(key) if key else None
            if key and job and job["metadata"]["uid"] == uid:
                self._sync(key, job, self._tallies[uid])

    def _sync(self, key: Key, job: Obj, tally: Tally) -> None:
        if holds(job, "Complete") or holds(job, "Failed"):
            for pod in [pod for pod, obj in tally.pods.items() if _tracked(obj)]:
                self._release(pod)
            return
        spec = job["spec"]
        if spec.get("managedBy") not in {None, "kubernetes.io/job-controller"}:
            return
        self._check_deadline(key, job, tally)
        ended = self._count_ended(job, tally)
        verdict = tally.judge(job)
        leaving = bool(verdict) or spec["suspend"]
        if leaving:
            ended += self._stop_all(job, tally)
        elif not is_deleted(job):
            self._create_missing(key, job, tally)
        self._write(key, tally, ended, verdict)

    def _check_deadline(self, key: Key, job: Obj, tally: Tally) -> None:
        limit, started = job["spec"].get("activeDeadlineSeconds"), job["status"].get("startTime")
        if job["spec"]["suspend"]:
            tally.started = None
        if limit is None or started is None or tally.verdict or job["spec"]["suspend"]:
            return
        tally.started = tally.started or time.monotonic()
        left = tally.started + limit * self._pace.second_s - time.monotonic()
        if left <= 0:
            tally.verdict = failure("DeadlineExceeded", "Job was active longer than specified deadline")
        else:
            self._later(left, lambda: self._touch(key))

    def _touch(self, key: Key) -> None:
        job = self._store.get(key)
        if job is not None:
            self._touched[job["metadata"]["uid"]] = None

    def _count_ended(self, job: Obj, tally: Tally) -> list[tuple[Key, Obj, bool]]:
        """Count the pods that ended since; returns them, and whether the status counts each."""
        early = job["spec"]["podReplacementPolicy"] == "TerminatingOrFailed" or tally.verdict is not None
        ended = []
        for key, pod in list(tally.pods.items()):
            over = job_pods.succeeded(pod) or job_pods.failed(pod) or (early and is_deleted(pod))
            if over and _tracked(pod):
                ended.append((key, pod, tally.count(job, pod)))
                self._delay_next(job, pod, tally)
        return ended

    def _delay_next(self, job: Obj, pod: Obj, tally: Tally) -> None:
        if job_pods.succeeded(pod):
            return
        by_index = "backoffLimitPerIndex" in job["spec"]
        index = job_pods.index_of(pod) if by_index else None
        times = tally.index_failures.get(index or 0, 1) if by_index else max(tally.counted_against_limit, 1)
        tally.next_at[index] = time.monotonic() + self._pace.backoff_s * min(2 ** (times - 1), 64)

    def _stop_all(self, job: Obj, tally: Tally) -> list[tuple[Key, Obj, bool]]:
        """Delete the Job's pods that run; those count as failed, unless the Job is only suspended."""
        ended = []
        for key, pod in list(tally.pods.items()):
            if not job_pods.is_active(pod):
                continue
            stopped = stop_pod(self._store, key) or pod
            tally.pods[key] = stopped
            self._tell(job, "SuccessfulDelete", f"Deleted pod: {key.name}", component=COMPONENT)
            if tally.verdict is not None:
                failing = tally.verdict.target == "FailureTarget"
                if failing:
                    tally.failed += 1
                ended.append((key, stopped, failing))
            else:
                self._release(key)
        return ended

    def _create_missing(self, key: Key, job: Obj, tally: Tally) -> None:
        wanted = tally.wanted(job["spec"])
        by_index = "backoffLimitPerIndex" in job["spec"]
        for index in wanted:
            wait = tally.next_at.get(index if by_index else None, 0) - time.monotonic()
            if wait > 0:
                self._later(wait, lambda: self._touch(key))
                continue
            pod = job_pods.pod_of(job, index, tally.index_failures.get(index, 0) if index is not None else 0)
            pod_key = Key("pods", key.namespace, name_of(pod))
            try:
                self._admit(pod)
            except Refusal as refusal:
                message = f"Error creating: {refusal.message}"
                self._tell(job, "FailedCreate", message, component=COMPONENT, warning=True)
                self._later(self._pace.backoff_s, lambda: self._touch(key))
                return
            tally.pods[pod_key] = self._store.create(pod_key, pod)
            self._tell(job, "SuccessfulCreate", f"Created pod: {pod_key.name}", component=COMPONENT)

    def _write(self, key: Key, tally: Tally, ended: list[tuple[Key, Obj, bool]], verdict: Verdict | None) -> None:
        """Write the status as the real controller does: what is not counted yet, then the counts, then the end."""
        counts = (tally.succeeded, tally.failed)
        counting = [(pod, job_pods.succeeded(pod)) for _, pod, counted in ended if counted]
        shown_before = (
            counts[0] - sum(good for _, good in counting),
            counts[1] - sum(not good for _, good in counting),
        )
        uncounted: Obj = {}
        for pod, good in counting:
            uncounted.setdefault("succeeded" if good else "failed", []).append(pod["metadata"]["uid"])
        if ended:
            self._put(key, tally, verdict, shown_before, uncounted)
            for pod_key, _, _ in ended:
                self._release(pod_key)
                pod_now = self._store.get(pod_key)
                if pod_now is None or not is_deleted(pod_now):
                    tally.pods.pop(pod_key, None)
                else:
                    tally.pods[pod_key] = pod_now
        idle = not any(map(job_pods.is_active, tally.pods.values())) and not _terminating(tally)
        job = self._store.get(key)
        stood = job is not None and job["status"].get("terminating", 0) == 0
        final = verdict if idle and (ended or stood) else None
        self._put(key, tally, verdict, counts, {}, final)
        if verdict and idle and final is None:
            self._put(key, tally, verdict, counts, {}, verdict)
        if verdict and idle:
            self._tell_end(key, verdict)

    def _put(
        self,
        key: Key,
        tally: Tally,
        verdict: Verdict | None,
        counts: tuple[int, int],
        uncounted: Obj,
        final: Verdict | None = None,
    ) -> None:
        def write(job: Obj) -> None:
            self._write_conditions(job, verdict, final)
            _write_counts(job, tally, counts, uncounted)
            if final and final.final == "Complete":
                job["status"]["completionTime"] = now()

        self._store.update(key, write)

    def _write_conditions(self, job: Obj, verdict: Verdict | None, final: Verdict | None) -> None:
        suspended = job["spec"]["suspend"]
        status = job["status"]
        if suspended and not verdict and not holds(job, "Suspended"):
            set_condition(job, _condition("Suspended", "True", "JobSuspended", "Job suspended"))
            status.pop("startTime", None)
            self._tell(job, "Suspended", "Job suspended", component=COMPONENT)
        elif not suspended and holds(job, "Suspended"):
            set_condition(job, _condition("Suspended", "False", "JobResumed", "Job resumed"))
            self._tell(job, "Resumed", "Job resumed", component=COMPONENT)
        if not suspended:
            status.setdefault("startTime", now())
        for stage, name in ((verdict, "target"), (final, "final")):
            if stage and not holds(job, getattr(stage, name)):
                set_condition(job, _condition(getattr(stage, name), "True", stage.reason, stage.message))

    def _tell_end(self, key: Key, verdict: Verdict) -> None:
        job = self._store.get(key)
        if job is None or not holds(job, verdict.final):
            return
        bad = verdict.final == "Failed"
        reason, message = (verdict.reason, verdict.message) if bad else ("Completed", "Job completed")
        self._tell(job, reason, message, component=COMPONENT, warning=bad)
        ttl = job["spec"].get("ttlSecondsAfterFinished")
        if ttl is not None:
            self._later(ttl * self._pace.second_s, lambda: self._expire(key, job["metadata"]["uid"]))

    def _expire(self, key: Key, uid: str) -> None:
        job = self._store.get(key)
        if job is not None and job["metadata"]["uid"] == uid:
            ask_to_go(self._store, key, "Foreground")

    def _release(self, key: Key) -> None:
        self._store.update(key, _untrack)


def _write_counts(job: Obj, tally: Tally, counts: tuple[int, int], uncounted: Obj) -> None:
    old = job["status"]
    active = sum(map(job_pods.is_active, tally.pods.values()))
    given: Obj = {
        "active": active or None,
        "succeeded": counts[0] or None,
        "failed": counts[1] or None,
        "terminating": _terminating(tally),
        "uncountedTerminatedPods": uncounted,
        "ready": sum(map(job_pods.is_ready, tally.pods.values())),
    }
    if job["spec"]["completionMode"] == "Indexed":
        given["completedIndexes"] = ranges(tally.done_indexes) or None
    if "backoffLimitPerIndex" in job["spec"]:
        given["failedIndexes"] = ranges(tally.failed_indexes)
    kept = {name: old[name] for name in ("conditions", "startTime", "completionTime") if name in old}
    job["status"] = {**kept, **{name: value for name, value in given.items() if value is not None}}


def _terminating(tally: Tally) -> int:
    over = (job_pods.succeeded, job_pods.failed)
    return sum(is_deleted(pod) and not any(each(pod) for each in over) for pod in tally.pods.values())


def _condition(kind: str, status: str, reason: str, message: str) -> Obj:
    at = now()
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": at,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }


def _tracked(pod: Obj) -> bool:
    return JOB_TRACKING in (pod["metadata"].get("finalizers") or [])


def _is_counted_and_over(pod: Obj) -> bool:
    over = job_pods.succeeded(pod) or job_pods.failed(pod)
    return over and not _tracked(pod)


def _untrack(pod: Obj) -> None:
    left = [each for each in pod["metadata"].get("finalizers") or [] if each != JOB_TRACKING]
    pod["metadata"]["finalizers"] = left
    if not left:
        del pod["metadata"]["finalizers"]
