"""Kinds of failures that no server on this machine can be made to show."""

import errno
from typing import Any

import pytest

from kinetic_core.errors import StorageError
from kinetic_fsspec.failures import translated
from kinetic_fsspec.problems import problem_of


class RefusedError(Exception):
    """Like botocore's."""

    def __init__(self, code: str, status: int) -> None:
        super().__init__(code)
        self.response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (RefusedError("RequestTimeTooSkewed", 403), "clock"),
        (RefusedError("ExpiredToken", 400), "credentials"),
        (RefusedError("AccessDenied", 403), "permission"),
        (RefusedError("NoSuchBucket", 404), "bucket"),
        (RefusedError("Unknown", 418), ""),
        (OSError(errno.EROFS, "Read-only file system"), "permission"),
        (ConnectionResetError(), "network"),
        (ValueError("?"), ""),
    ],
)
def test_a_failure_is_of_one_kind(error: Exception, problem: str) -> None:
    assert problem_of(error) == problem
    with pytest.raises(StorageError) as caught, translated("write", "s3://b/k"):
        raise error
    assert caught.value.problem == problem


def test_what_a_driver_hides_behind_its_own_error_counts() -> None:
    hidden = OSError("wrapped")
    hidden.__cause__ = RefusedError("RequestTimeTooSkewed", 403)
    assert problem_of(hidden) == "clock"


def test_libraries_credentials_are_known_by_name() -> None:
    kind = type("RefreshError", (Exception,), {"__module__": "google.auth.exceptions"})
    assert problem_of(kind("invalid_grant")) == "credentials"


@pytest.mark.parametrize(
    ("name", "words", "problem"),
    [
        (
            "google.auth.exceptions.RefreshError",
            "invalid_grant: Invalid JWT: Token must be short-lived. Check your iat and exp values in the JWT claim.",
            "clock",
        ),
        ("google.auth.exceptions.RefreshError", "invalid_grant: Invalid JWT Signature.", "credentials"),
        (
            "azure.core.exceptions.ClientAuthenticationError",
            "Server failed.\nAuthenticationErrorDetail:The Date header in the request is incorrect.",
            "clock",
        ),
        ("gcsfs.retry.HttpError", "User project specified in the request is invalid., 400", "project"),
        ("gcsfs.retry.HttpError", "Bucket is a requester pays bucket but no user project provided., 400", "project"),
    ],
)
def test_what_a_cloud_says_in_words_alone_is_told_apart(name: str, words: str, problem: str) -> None:
    module, _, kind = name.rpartition(".")
    assert problem_of(type(kind, (Exception,), {"__module__": module})(words)) == problem


def test_a_log_in_at_amazon_that_ended_is_one_of_credentials() -> None:
    exceptions = pytest.importorskip("botocore.exceptions")
    for error in (exceptions.UnauthorizedSSOTokenError(), exceptions.SSOTokenLoadError(error_msg="expired")):
        assert problem_of(error) == "credentials"


def test_the_remedy_of_an_absent_bucket_is_no_part_of_the_sentence_that_others_add_theirs_to() -> None:
    with pytest.raises(StorageError) as caught, translated("write", "s3://b/k"):
        raise FileNotFoundError(errno.ENOENT, "The specified bucket does not exist")
    assert "create" not in str(caught.value)
    assert caught.value.__notes__ == ["create it, or correct the store's URL"]
