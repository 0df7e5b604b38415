import errno
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kinetic_core.errors import StorageError
from kinetic_core.wire.transience import DamagedError, may_pass


class StatusError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status_code = status


class CodedError(Exception):
    def __init__(self, code: Any) -> None:
        super().__init__(code)
        self.error_code = code


class AnswerError(Exception):
    """As botocore's are."""

    def __init__(self, status: int, code: str = "") -> None:
        super().__init__(status)
        self.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("status", [408, 429, *range(500, 512)])
def test_what_the_server_may_get_over_may_pass(status: int) -> None:
    assert may_pass(StatusError(status)) is True
    assert may_pass(AnswerError(status)) is True
    assert may_pass(caused(OSError(errno.EINVAL, "translated"), AnswerError(status))) is True


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 411, 412, 416])
def test_what_the_server_refuses_does_not_pass(status: int) -> None:
    assert may_pass(StatusError(status)) is False
    assert may_pass(AnswerError(status)) is False
    assert may_pass(caused(OSError(errno.EBUSY, "translated"), AnswerError(status))) is False


@pytest.mark.parametrize("code", ["BadDigest", "RequestTimeout", "IncompleteBody", "ConditionalRequestConflict"])
def test_a_body_that_did_not_arrive_may_the_next_time(code: str) -> None:
    assert may_pass(AnswerError(400, code)) is True
    assert may_pass(CodedError(code)) is True
    assert may_pass(CodedError(SimpleNamespace(value=code))) is True


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (DamagedError("checksum"), True),
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (OSError(errno.ENETUNREACH, "no network"), True),
        (FileNotFoundError(), False),
        (PermissionError(), False),
        (IsADirectoryError(), False),
        (StorageError("told already"), False),
        (OSError("Forbidden: key"), None),
        (ValueError(), None),
        (CodedError(None), None),
        (StatusError(0), None),
    ],
)
def test_an_error_without_a_status_is_known_by_its_kind(error: Exception, passes: bool | None) -> None:
    assert may_pass(error) is passes


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("aiohttp.client_exceptions", "ServerDisconnectedError"),
        ("aiohttp.client_exceptions", "ClientPayloadError"),
        ("azure.core.exceptions", "ServiceResponseError"),
        ("botocore.exceptions", "FlexibleChecksumError"),
        ("botocore.exceptions", "EndpointConnectionError"),
        ("google.auth.exceptions", "TransportError"),
        ("requests.exceptions", "ProxyError"),
    ],
)
def test_errors_of_the_clouds_libraries_are_known(module: str, name: str) -> None:
    pytest.importorskip(module)
    kind = getattr(sys.modules[module], name)
    details = {"error_msg": "x", "endpoint_url": "x", "error": "x"} if module.startswith("botocore") else {}
    assert may_pass(kind(**details) if details else kind("x") if module.startswith("azure") else kind()) is True
