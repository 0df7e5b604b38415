"""Results: the record in which a pod says how the call ended."""

from dataclasses import dataclass
from typing import Any, Final

MAX_REPR_CHARS: Final = 20_000

REMOTE_TYPE: Final = "remote_type"
"""Attribute of a built-in exception that stands in for one that cannot travel: the other's module and name."""
REMOTE_MESSAGE: Final = "remote_message"
"""Another: the other's own message."""
REMOTE_TRACEBACK: Final = "remote_traceback"
"""Another: the other's traceback, formatted, with its causes and contexts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a call ended on one host."""

    success: bool
    result: Any = None
    exception: BaseException | None = None
    traceback: str | None = None
    """Formatted, with file names as the user knows them."""
    phase: str | None = None
    """The runner phase it ended in."""
    host_index: int = 0
    serialization_failed: bool = False
    """The function returned, but its value cannot travel."""
    result_repr: str | None = None
    """At most 20,000 characters of the value that cannot travel."""
    terminated: bool = False
    """The pod was told to stop (SIGTERM, for example a spot reclaim)."""

    def to_dict(self) -> dict[str, Any]:
        """Return the dict of the contract; keys beyond the six common ones only where they say something."""
        made: dict[str, Any] = {
            "success": self.success,
            "result": self.result,
            "exception": self.exception,
            "traceback": self.traceback,
            "phase": self.phase,
            "host_index": self.host_index,
        }
        if self.serialization_failed:
            made |= {"serialization_failed": True, "result_repr": self.result_repr}
        if self.terminated:
            made["terminated"] = True
        return made


def read_result(raw: object) -> Result:
    """Read a result dict leniently; unknown keys are ignored.

    Raises:
        ValueError: It is no dict, or has no `success`.

    >>> read_result({"success": True, "result": 7, "later": "key"}).result
    7
    """
    if not isinstance(raw, dict) or "success" not in raw:
        message = f"not a result record: {type(raw).__name__}"
        raise ValueError(message)
    return Result(
        success=bool(raw["success"]),
        result=raw.get("result"),
        exception=raw.get("exception"),
        traceback=raw.get("traceback"),
        phase=raw.get("phase"),
        host_index=raw.get("host_index") or 0,
        serialization_failed=bool(raw.get("serialization_failed")),
        result_repr=raw.get("result_repr"),
        terminated=bool(raw.get("terminated")),
    )
