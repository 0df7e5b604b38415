"""What a Job has come to: its pods, what of them is counted, and the verdict."""

from typing import Literal

import attrs

from tests.fakes.kube import job_pods
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.store import Key


@attrs.frozen(kw_only=True)
class Verdict:
    """How a Job ends, and why; the final condition comes once its pods are gone."""

    target: Literal["SuccessCriteriaMet", "FailureTarget"]
    reason: str
    message: str

    @property
    def final(self) -> str:
        """Return the condition that ends the Job."""
        return "Complete" if self.target == "SuccessCriteriaMet" else "Failed"


def failure(reason: str, message: str) -> Verdict:
    """Return a bad end."""
    return Verdict(target="FailureTarget", reason=reason, message=message)


def success(reason: str, message: str) -> Verdict:
    """Return a good end."""
    return Verdict(target="SuccessCriteriaMet", reason=reason, message=message)


@attrs.define
class Tally:
    """One Job's pods that are not counted yet, and the counts."""

    pods: dict[Key, Obj] = attrs.field(factory=dict)
    succeeded: int = 0
    failed: int = 0
    counted_against_limit: int = 0
    done_indexes: set[int] = attrs.field(factory=set)
    failed_indexes: set[int] = attrs.field(factory=set)
    index_failures: dict[int, int] = attrs.field(factory=dict)
    next_at: dict[int | None, float] = attrs.field(factory=dict)
    started: float | None = None
    verdict: Verdict | None = None

    def count(self, job: Obj, pod: Obj) -> bool:
        """Count a pod that ended; tells whether it counts as failed for the status."""
        index = job_pods.index_of(pod)
        if job_pods.succeeded(pod):
            self._count_success(index)
            return True
        matched = job_pods.matching_rule(job, pod) if job_pods.failed(pod) else None
        action = matched[0]["action"] if matched else "Count"
        if matched and action == "FailJob" and self.verdict is None:
            self.verdict = failure("PodFailurePolicy", matched[1])
        if action == "Ignore":
            return False
        self.failed += 1
        self.counted_against_limit += 1
        if index is not None:
            self._count_index_failure(job["spec"], index, final=action == "FailIndex")
        return True

    def _count_success(self, index: int | None) -> None:
        if index is None:
            self.succeeded += 1
        elif index not in self.done_indexes:
            self.done_indexes.add(index)
            self.succeeded += 1

    def _count_index_failure(self, spec: Obj, index: int, *, final: bool) -> None:
        self.index_failures[index] = self.index_failures.get(index, 0) + 1
        limit = spec.get("backoffLimitPerIndex")
        if limit is not None and (final or self.index_failures[index] > limit):
            self.failed_indexes.add(index)

    def judge(self, job: Obj) -> Verdict | None:
        """Return how the Job ends, once that stands."""
        if self.verdict is None:
            self.verdict = self._failure(job["spec"]) or self._success(job["spec"])
        return self.verdict

    def _failure(self, spec: Obj) -> Verdict | None:
        restarted = sum(job_pods.restarts(pod) for pod in self.pods.values())
        limit = spec["backoffLimit"]
        by_restarts = spec["template"]["spec"]["restartPolicy"] == "OnFailure" and restarted > 0 and restarted >= limit
        if self.counted_against_limit > limit or by_restarts:
            return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
        most = spec.get("maxFailedIndexes")
        if most is not None and len(self.failed_indexes) > most:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return failure("MaxFailedIndexesExceeded", message)
        if self.failed_indexes and len(self.failed_indexes) + len(self.done_indexes) >= spec["completions"]:
            return failure("FailedIndexes", "Job has failed indexes")
        return None

    def _success(self, spec: Obj) -> Verdict | None:
        completions = spec.get("completions")
        enough = success("CompletionsReached", "Reached expected number of succeeded pods")
        if completions is None:
            return enough if self.succeeded and not any(map(job_pods.is_active, self.pods.values())) else None
        for position, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or []):
            named = rule.get("succeededIndexes")
            chosen = self.done_indexes & parsed(named) if named else self.done_indexes
            if len(chosen) >= rule.get("succeededCount", len(parsed(named)) if named else completions):
                return success("SuccessPolicy", f"Matched rules at index {position}")
        return enough if self.succeeded >= completions else None

    def wanted(self, spec: Obj) -> list[int | None]:
        """Return for which indexes pods are missing (None where the Job has no indexes), in order."""
        active = [pod for pod in self.pods.values() if self._occupies(pod, spec)]
        room = spec["parallelism"] - len(active)
        completions = spec.get("completions")
        if spec["completionMode"] == "Indexed":
            taken = {job_pods.index_of(pod) for pod in active} | self.done_indexes | self.failed_indexes
            missing: list[int | None] = []
            for index in range(spec["completions"]):
                if len(missing) >= room:
                    break
                if index not in taken:
                    missing.append(index)
            return missing
        if completions is not None:
            room = min(room, completions - self.succeeded - len(active))
        elif self.succeeded:
            room = 0
        return [None] * room

    @staticmethod
    def _occupies(pod: Obj, spec: Obj) -> bool:
        """Tell whether no other may take the pod's place yet."""
        late = spec["podReplacementPolicy"] == "Failed" and not (job_pods.succeeded(pod) or job_pods.failed(pod))
        return job_pods.is_active(pod) or late


def ranges(indexes: set[int]) -> str:
    """Return the indexes as the status shows them: `0-2,5`."""
    runs: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return ",".join(_range(*run) for run in runs)


def _range(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def parsed(text: str) -> set[int]:
    """Return the indexes of such a text."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
