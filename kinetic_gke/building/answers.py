"""Answers of Google's services: what a refusal says, in one form, and in one sentence."""

import json
from collections.abc import Mapping
from typing import Any, Final

from kinetic_gke.building.services import Service
from kinetic_gke.cluster.refusal import Refusal

UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
CONFLICT: Final = 409
_DISABLED: Final = "SERVICE_DISABLED"
_CAUSES: Final[Mapping[int, str]] = {
    0: "it cannot be reached ({message}); look at network and proxy",
    UNAUTHORIZED: "it does not take these credentials ({message}); log in with: gcloud auth application-default login",
    NOT_FOUND: "there is no such thing ({message}); look at KINETIC_PROJECT and KINETIC_ZONE",
    429: "it has too much to do, or a quota is used up ({message}); try again later, or ask for a larger quota",
}


def refusal_in(status: int, body: str, retry_after: str | None) -> Refusal:
    """Read an answer that is no success.

    >>> refusal_in(403, '{"error": {"status": "PERMISSION_DENIED", "message": "no"}}', None).reason
    'PERMISSION_DENIED'
    """
    try:
        told = json.loads(body)["error"]
        reasons = [str(one["reason"]) for one in told.get("details") or () if "reason" in one]
        reason = reasons[0] if reasons else str(told.get("status") or "")
        message = str(told.get("message") or reason)
    except (ValueError, LookupError, TypeError, AttributeError):
        reason, message = "", body
    pause_s = float(retry_after) if retry_after and retry_after.isdigit() else None
    return Refusal(
        status=status, reason=reason, message=_one_line(message) or "it does not say why", retry_after_s=pause_s
    )


def refusal_by(error: Exception, status: int = 0) -> Refusal:
    """Return what an exception of the library says where there was no answer."""
    return Refusal(status=status, reason=type(error).__name__, message=_one_line(str(error)))


def sentence(refusal: Refusal, service: Service, *, wish: str, role: str, project: str) -> str:
    """Return one sentence: what was wanted, what stands against it, what to do.

    Args:
        refusal: The answer.
        service: Who gave it.
        wish: What was wanted: `start a build`.
        role: Who has it may do this.
        project: Where it was wanted.
    """
    return f"{service.name} did not {wish} in the project {project!r}: {_cause(refusal, service, role, project)}"


def _cause(refusal: Refusal, service: Service, role: str, project: str) -> str:
    if refusal.reason == _DISABLED:
        return f"it is not enabled there; enable it with: gcloud services enable {service.api} --project {project}"
    if refusal.status == FORBIDDEN:
        return f"it is forbidden ({refusal.message}); ask for the role {role}"
    otherwise = "it fails ({message}, {status}); try again later" if refusal.may_pass else "{message} ({status})"
    return _CAUSES.get(refusal.status, otherwise).format(message=refusal.message, status=refusal.status)


def read_json(text: str) -> Any:
    """Read the body of a success; what is no JSON comes from something between here and the service.

    Raises:
        Refusal: It is none.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise Refusal(status=0, reason="NoJson", message="what answers there is not the service") from error


def _one_line(text: str) -> str:
    return " ".join(text.split())
