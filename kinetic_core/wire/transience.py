"""Which failures of stores may pass, on either side: told by HTTP status where there is one, else by kind."""

import errno
from collections.abc import Iterator
from typing import Any, Final

from kinetic_core.errors import KineticError

_STATUSES: Final = frozenset((408, 429))
_SERVER_ERRORS: Final = range(500, 600)
# Answered with status 400, 403 or 409, though it was the way that failed: the body came late, short or altered, or
# two requests met.
_CODES: Final = frozenset(
    (
        "BadDigest",
        "ConditionalRequestConflict",
        "IncompleteBody",
        "Md5Mismatch",
        "OperationAborted",
        "RequestTimeout",
        "XAmzContentChecksumMismatch",
        "XAmzContentSHA256Mismatch",
    )
)
# By name: the libraries they come from may not be installed.
_KINDS: Final = frozenset(
    (
        "aiohttp.client_exceptions.ClientConnectionError",
        "aiohttp.client_exceptions.ClientPayloadError",
        "azure.core.exceptions.DecodeError",
        "azure.core.exceptions.IncompleteReadError",
        "azure.core.exceptions.ServiceRequestError",
        "azure.core.exceptions.ServiceResponseError",
        "botocore.exceptions.ConnectionError",
        "botocore.exceptions.FlexibleChecksumError",
        "botocore.exceptions.HTTPClientError",
        "botocore.exceptions.IncompleteReadError",
        "google.auth.exceptions.TransportError",
        "requests.exceptions.ChunkedEncodingError",
        "requests.exceptions.ConnectionError",
        "requests.exceptions.Timeout",
    )
)
_ERRNOS: Final = frozenset((errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EPIPE))


class DamagedError(ConnectionError):
    """Bytes arrived other than they were sent."""


def may_pass(error: BaseException) -> bool | None:
    """Tell whether the same request may succeed later; `None` where nothing is known of such an error.

    >>> may_pass(TimeoutError()), may_pass(PermissionError()), may_pass(ValueError())
    (True, False, None)
    """
    if isinstance(error, KineticError | FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError):
        return False
    for cause in causes(error):
        code, status = code_of(cause), status_of(cause)
        if code in _CODES:
            return True
        if status is not None:
            return status in _STATUSES or status in _SERVER_ERRORS
        if isinstance(cause, ConnectionError | TimeoutError) or getattr(cause, "errno", None) in _ERRNOS:
            return True
        if any(f"{kind.__module__}.{kind.__qualname__}" in _KINDS for kind in type(cause).__mro__):
            return True
    return None


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and what it was raised from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def status_of(error: Any) -> int | None:
    """Return the HTTP status that an error of a driver tells of."""
    answer = getattr(error, "response", None)
    told = answer.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(answer, dict) else None
    for value in (
        told,
        getattr(error, "status_code", None),
        getattr(error, "status", None),
        getattr(error, "code", None),
    ):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def code_of(error: Any) -> str | None:
    """Return the service's own word for what went wrong."""
    answer = getattr(error, "response", None)
    code = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else getattr(error, "error_code", None)
    return None if code is None else str(getattr(code, "value", code))
