"""What shall go wrong with requests: by method and path, after so many, so many times."""

import re
import threading
from typing import Any, Final

import attrs

from tests.fakes.kube.answers import REASONS, Refusal
from tests.fakes.kube.objects import Obj


@attrs.frozen(kw_only=True)
class Fault:
    """How a request goes wrong: any of these together."""

    delay_s: float = 0.0
    refusal: Refusal | None = None
    drop: bool = False
    lose_reply: bool = False
    cut_after: int | None = None
    piece: int | None = None


NOTHING: Final = Fault()


class Faults:
    """Rules; each request is held against all, and the first that still applies is used."""

    def __init__(self) -> None:
        self._rules: list[Obj] = []
        self._lock = threading.Lock()

    def add(self, rule: Obj) -> None:
        """Add a rule.

        `method` and `path` (regular expressions; the path with its query) and `user` say which requests; `skip`
        how many of those go well first, `times` how many then do not. What happens: `status` (with `reason`,
        `message`, `retry_after_s`), `delay_s`, `drop` (the connection, before the request is acted on),
        `lose_reply` (after), `cut_after` (so many events or lines of a stream, then the connection),
        `piece` (a log in pieces of so many bytes).
        """
        with self._lock:
            self._rules.append({"seen": 0, **rule})

    def clear(self) -> None:
        """Let everything go well again."""
        with self._lock:
            self._rules.clear()

    def of(self, method: str, path: str, user: str) -> Fault:
        """Return how this request goes wrong; counts it."""
        with self._lock:
            for rule in self._rules:
                if not self._is_meant(rule, method, path, user):
                    continue
                rule["seen"] += 1
                skip = rule.get("skip", 0)
                if skip < rule["seen"] <= skip + rule.get("times", 1_000_000_000):
                    return _fault(rule)
        return NOTHING

    @staticmethod
    def _is_meant(rule: Obj, method: str, path: str, user: str) -> bool:
        return (
            re.fullmatch(rule.get("method", ".*"), method) is not None
            and re.search(rule.get("path", ""), path) is not None
            and rule.get("user", user) == user
        )


def _fault(rule: Obj) -> Fault:
    status: Any = rule.get("status")
    refusal = None
    if status is not None:
        refusal = Refusal(
            code=status,
            reason=rule.get("reason", REASONS.get(status)),
            message=rule.get("message", f"refused as the test asked ({status})"),
            details=rule.get("details"),
            retry_after_s=rule.get("retry_after_s"),
        )
    names = ("delay_s", "drop", "lose_reply", "cut_after", "piece")
    return Fault(refusal=refusal, **{name: rule[name] for name in names if name in rule})
