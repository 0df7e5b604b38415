"""What shall go wrong with which pods."""

import re
import threading
from typing import Final

from tests.fakes.kube.objects import Obj, labels_of, name_of

DEFAULT_MESSAGES: Final = {
    "unschedulable": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: "
    "3 No preemption victims found for incoming pod.",
    "image_pull": 'failed to pull and unpack image "{image}": failed to resolve reference "{image}": not found',
    "mount": 'MountVolume.SetUp failed for volume "data" : rpc error: code = Unauthenticated desc = failed to prepare',
    "config": 'secret "missing" not found',
    "quota": 'pods "{name}" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10',
    "admission": 'admission webhook "policy.example.com" denied the request: images must come from the site registry',
    "oom": "",
}


class PodFaults:
    """Rules, each for the pods whose name or whose Job's name matches; the first that fits applies."""

    def __init__(self) -> None:
        self._rules: list[Obj] = []
        self._lock = threading.Lock()
        self._changed = False

    def add(self, rule: Obj) -> None:
        """Add a rule: `kind`, `pod` (a regular expression), `times` (pods it still hits), `message`, more by kind."""
        if rule["kind"] not in DEFAULT_MESSAGES:
            raise ValueError(rule["kind"])
        with self._lock:
            self._rules.append(dict(rule))

    def clear(self) -> None:
        """Let everything go well again."""
        with self._lock:
            self._rules.clear()
            self._changed = True

    def changed(self) -> bool:
        """Tell, once, whether rules were taken away."""
        with self._lock:
            changed, self._changed = self._changed, False
        return changed

    def of(self, pod: Obj, kind: str) -> Obj | None:
        """Return the rule of that kind which hits the pod, with its message."""
        name = name_of(pod)
        job = labels_of(pod).get("batch.kubernetes.io/job-name", "")
        with self._lock:
            for rule in self._rules:
                if rule["kind"] != kind or not self._fits(rule, name, job):
                    continue
                hit: list[str] = rule.setdefault("hit", [])
                if name not in hit:
                    hit.append(name)
                image = pod["spec"]["containers"][0].get("image", "")
                message = rule.get("message") or DEFAULT_MESSAGES[kind].format(name=name, image=image)
                return {**rule, "message": message}
        return None

    @staticmethod
    def _fits(rule: Obj, name: str, job: str) -> bool:
        pattern = rule.get("pod", "")
        if not re.search(pattern, name) and not (job and re.search(pattern, job)):
            return False
        hit = rule.get("hit", [])
        return name in hit or len(hit) < rule.get("times", 1_000_000)
