"""Refusing to submit while somebody only looks: `kinetic explain` must not start a job."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kinetic_core.errors import UsageError

# What is refused belongs to the code that runs inside the `with`, not to the process.
_reason: ContextVar[str | None] = ContextVar("kinetic_submissions_refused", default=None)


@contextmanager
def submissions_refused(reason: str) -> Iterator[None]:
    """Let no call inside submit anything.

    Args:
        reason: What is being done instead, as a sentence without its end.

    >>> with submissions_refused("this only looks"):
    ...     check_submission_allowed("train")
    Traceback (most recent call last):
        ...
    kinetic_core.errors.UsageError: train was not submitted: this only looks; put the call below `if __name__ ...`
    """
    token = _reason.set(reason)
    try:
        yield
    finally:
        _reason.reset(token)


def check_submission_allowed(name: str) -> None:
    """Raise where submitting is refused.

    Raises:
        UsageError: Inside `submissions_refused`.
    """
    reason = _reason.get()
    if reason is not None:
        raise UsageError(f"{name} was not submitted: {reason}; put the call below `if __name__ ...`")
