"""What is tried again, how often, and what is said of it in the end."""

import errno

import pytest

from kinetic_runner.retry import is_transient, retried
from tests.unit.kinetic_runner.journal import Journal


class HttpError(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


class StatusError(OSError):
    def __init__(self, status: int) -> None:
        self.status = status


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (OSError(errno.EIO, "io"), True),
        (OSError(errno.ENOSPC, "full"), False),
        (FileNotFoundError(), False),
        (PermissionError(), False),
        (IsADirectoryError(), False),
        (HttpError(503), True),
        (HttpError(403), False),
        (HttpError(404), False),
        (StatusError(401), False),
        (StatusError(500), True),
        (ValueError(), False),
        (ImportError(), False),
    ],
)
def test_what_is_tried_again(error: Exception, transient: bool) -> None:
    assert is_transient(error) is transient


class Flaky:
    """Fails some times, then works."""

    def __init__(self, times: int, error: Exception) -> None:
        self.times, self.error, self.calls = times, error, 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return "done"


def test_a_transient_failure_is_tried_again_with_growing_pauses(journal: Journal) -> None:
    pauses: list[float] = []
    call = Flaky(3, ConnectionResetError("reset"))
    assert retried("download of x", call, log=journal, sleep=pauses.append) == "done"
    assert call.calls == 4
    assert all(0.5 * base <= pause <= 1.5 * base for base, pause in zip((0.5, 1, 2), pauses, strict=True))
    assert journal.warnings == ["download of x failed (ConnectionResetError: reset); trying again"] * 3


def test_five_failures_are_the_end(journal: Journal) -> None:
    call = Flaky(9, TimeoutError())
    with pytest.raises(OSError, match=r"^download of x failed \(after 5 attempts\): TimeoutError: $") as told:
        retried("download of x", call, log=journal, sleep=lambda _: None)
    assert call.calls == 5
    assert isinstance(told.value.__cause__, TimeoutError)


def test_a_refusal_at_the_last_try_is_told_as_it_is(journal: Journal) -> None:
    errors: list[Exception] = [PermissionError("no"), *[TimeoutError()] * 4]

    def call() -> None:
        raise errors.pop()

    with pytest.raises(PermissionError, match="no"):
        retried("x", call, log=journal, sleep=lambda _: None)
    assert errors == []


def test_a_refusal_is_not_tried_again(journal: Journal) -> None:
    call = Flaky(9, PermissionError())
    with pytest.raises(PermissionError):
        retried("x", call, log=journal)
    assert call.calls == 1
