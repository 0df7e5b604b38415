"""What the server says when it refuses: `Status` objects, with the reasons that clients look at."""

from collections.abc import Sequence
from typing import Final

import attrs

from tests.fakes.kube.objects import Obj

REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@attrs.frozen(kw_only=True)
class Refusal(Exception):  # noqa: N818 - an answer, not a fault of the program
    """An answer other than success."""

    code: int
    message: str
    reason: str | None = None
    details: Obj | None = None
    retry_after_s: int | None = None

    def body(self) -> Obj:
        """Return the `Status` that goes over the wire."""
        status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return {**status, "code": self.code}


class NoSuchPath(Exception):  # noqa: N818 - an answer, not a fault of the program
    """No group of that name is served: the one refusal that is plain text."""


def success(*, name: str, group: str, plural: str, uid: str) -> Obj:
    """Return the `Status` of an object that is gone."""
    details = {"name": name, **_group(group), "kind": plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _group(group: str) -> dict[str, str]:
    return {"group": group} if group else {}


def qualified(plural: str, group: str) -> str:
    """Return the resource as messages name it: `jobs.batch`, `pods`."""
    return f"{plural}.{group}" if group else plural


def bad_request(message: str) -> Refusal:
    """Refuse what cannot be read."""
    return Refusal(code=400, reason="BadRequest", message=message)


def unauthorized() -> Refusal:
    """Refuse somebody whom nobody knows."""
    return Refusal(code=401, reason="Unauthorized", message="Unauthorized")


def unknown_resource() -> Refusal:
    """Refuse a resource that its group does not have."""
    message = "the server could not find the requested resource"
    return Refusal(code=404, reason="NotFound", message=message, details={})


def not_found(plural: str, group: str, name: str) -> Refusal:
    """Say that the object is not there."""
    return Refusal(
        code=404,
        reason="NotFound",
        message=f'{qualified(plural, group)} "{name}" not found',
        details={"name": name, **_group(group), "kind": plural},
    )


def already_exists(plural: str, group: str, name: str) -> Refusal:
    """Say that the name is taken."""
    return Refusal(
        code=409,
        reason="AlreadyExists",
        message=f'{qualified(plural, group)} "{name}" already exists',
        details={"name": name, **_group(group), "kind": plural},
    )


def conflict(plural: str, group: str, name: str, why: str | None = None) -> Refusal:
    """Refuse a change of what has changed meanwhile."""
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    return Refusal(
        code=409,
        reason="Conflict",
        message=f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}',
        details={"name": name, **_group(group), "kind": plural},
    )


def forbidden(plural: str, group: str, name: str, why: str) -> Refusal:
    """Refuse what the caller may not do, or what admission does not let in."""
    named = f' "{name}"' if name else ""
    details = {**({"name": name} if name else {}), **_group(group), "kind": plural}
    message = f"{qualified(plural, group)}{named} is forbidden: {why}"
    return Refusal(code=403, reason="Forbidden", message=message, details=details)


@attrs.frozen
class Cause:
    """One thing wrong with an object, where, and of which kind."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


def required(field: str, detail: str = "") -> Cause:
    """Say that a value is missing."""
    return Cause(field, f"Required value: {detail}" if detail else "Required value", "FieldValueRequired")


def invalid_value(field: str, shown: str, detail: str) -> Cause:
    """Say that a value, given as JSON shows it, will not do."""
    return Cause(field, f"Invalid value: {shown}: {detail}")


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Refusal:
    """Refuse an object for what is wrong with it, everything at once."""
    listed = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    told = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    return Refusal(
        code=422,
        reason="Invalid",
        message=f'{qualified(kind, group)} "{name}" is invalid: {told}',
        details={
            **({"name": name} if name else {}),
            **_group(group),
            "kind": kind,
            "causes": [{"reason": each.reason, "message": each.message, "field": each.field} for each in causes],
        },
    )


def expired(message: str) -> Refusal:
    """Say that the history no longer reaches back so far."""
    return Refusal(code=410, reason="Expired", message=message)
