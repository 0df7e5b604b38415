"""The states of a batch's input, and what leads from one to the next. Pure: who asks and who writes is elsewhere.

```
(taken) ── refused                                   the input cannot travel; final
   └───── waiting ── submitted ── ended              SUCCEEDED, CANCELLED; FAILED … without retries left; final
             │           └─ FAILED, NOT_FOUND, PREEMPTED with retries left: waiting, as the next attempt
             └────── dropped                         the batch was stopped; final
```
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from kinetic_core.model.job import JobState, JobStatus

FAILURES: Final = frozenset((JobStatus.FAILED, JobStatus.NOT_FOUND, JobStatus.PREEMPTED))
"""Endings after which another attempt may help."""
DROPPED: Final = "never submitted: the batch was stopped"


@attrs.frozen(kw_only=True)
class Refusal:
    """Why an input was never submitted."""

    type_name: str
    message: str


@attrs.frozen(kw_only=True)
class InputState:
    """How far one input of a batch has come."""

    index: int
    """Its place among the inputs, from 0."""
    sha256: str = ""
    """Of its payload."""
    size_bytes: int = 0
    refusal: Refusal | None = None
    attempt: int = 1
    """The number of the present attempt."""
    is_submitted: bool = False
    """The present attempt was handed to the backend."""
    is_doubtful: bool = False
    """Another process may have handed it over: ask before submitting."""
    status: JobStatus = JobStatus.PENDING
    """Of the present attempt."""
    reason: str = ""
    details: Mapping[str, str] = attrs.field(factory=dict)
    """The backend's reference to the job that was submitted last."""

    @property
    def is_final(self) -> bool:
        """Tell whether nothing more will come of it."""
        return self.refusal is not None or self.status.is_terminal

    @property
    def is_waiting(self) -> bool:
        """Tell whether its present attempt is still to be submitted."""
        return not self.is_final and not self.is_submitted

    @property
    def is_in_flight(self) -> bool:
        """Tell whether a job of it waits or runs."""
        return not self.is_final and self.is_submitted

    @property
    def has_failed(self) -> bool:
        """Tell whether it ended without a value, refusals apart."""
        return self.refusal is None and self.status.is_terminal and self.status is not JobStatus.SUCCEEDED

    def submitted(self, details: Mapping[str, str]) -> "InputState":
        """Return it with its present attempt handed to the backend, which calls the job so."""
        return attrs.evolve(self, is_submitted=True, is_doubtful=False, details=dict(details))

    def seen(self, state: JobState, *, retries: int) -> "InputState":
        """Return it after its job was seen in this state.

        Args:
            state: What the backend says.
            retries: Further attempts that the batch allows; 0 in one that was stopped.

        >>> gone = InputState(index=0, is_submitted=True).seen(JobState(status="FAILED"), retries=1)
        >>> gone.attempt, gone.is_waiting, gone.submitted({}).seen(JobState(status="FAILED"), retries=1).status
        (2, True, <JobStatus.FAILED: 'FAILED'>)
        """
        if state.status in FAILURES and self.attempt <= retries:
            return attrs.evolve(
                self,
                attempt=self.attempt + 1,
                is_submitted=False,
                status=JobStatus.PENDING,
                reason=state.reason,
            )
        return attrs.evolve(self, status=state.status, reason=state.reason)

    def dropped(self) -> "InputState":
        """Return it as one that will not be submitted: the attempt before, if there was one, was its last."""
        if self.attempt > 1:
            return attrs.evolve(self, attempt=self.attempt - 1, is_submitted=True, status=JobStatus.FAILED)
        return attrs.evolve(self, status=JobStatus.CANCELLED, reason=DROPPED)

    def input_json(self) -> dict[str, Any]:
        """Return what its submitter knows: written once."""
        told: dict[str, Any] = {"index": self.index}
        if self.refusal is not None:
            return told | {"refused": attrs.asdict(self.refusal)}
        return told | {"sha256": self.sha256, "size_bytes": self.size_bytes}

    def attempt_json(self) -> dict[str, Any]:
        """Return how far it is."""
        told = {} if self.refusal is None else {"refused": attrs.asdict(self.refusal)}
        return {
            **told,
            "index": self.index,
            "attempt": self.attempt,
            "submitted": self.is_submitted,
            "status": str(self.status),
            "reason": self.reason,
            "ref": dict(self.details),
        }

    @classmethod
    def from_json(cls, taken: Mapping[str, Any], noted: Mapping[str, Any] | None) -> "InputState":
        """Read what the two above wrote, perhaps in another process, perhaps long ago."""
        noted = noted or {}
        refused = taken.get("refused") or noted.get("refused")
        return cls(
            index=taken["index"],
            sha256=taken.get("sha256", ""),
            size_bytes=taken.get("size_bytes", 0),
            refusal=None if refused is None else Refusal(**refused),
            attempt=noted.get("attempt", 1),
            is_submitted=noted.get("submitted", False),
            is_doubtful=not noted.get("submitted", False),
            status=JobStatus(noted.get("status", JobStatus.PENDING)),
            reason=noted.get("reason", ""),
            details=noted.get("ref", {}),
        )
