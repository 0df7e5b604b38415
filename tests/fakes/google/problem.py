"""Answers that are no success, as Google's services write them."""

from typing import Any, Final

_WORDS: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


class Problem(Exception):  # noqa: N818 - it is an answer
    """One refusal."""

    def __init__(self, status: int, message: str, *, reason: str = "", retry_after: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
        self.body: dict[str, Any] = {
            "error": {"code": status, "message": message, "status": _WORDS[status], "details": details}
        }


def unserved(method: str, parts: list[str]) -> Problem:
    """Return the answer to what is asked of no service."""
    return Problem(404, f"{method} {'/'.join(parts)} is served here no more than there")
