"""Outcomes: what a runner's end means, in words for a person."""

import os
import signal


class Outcome:
    """How one attempt ended."""

    __slots__ = ("exit_code", "infrastructure", "reason", "status")

    def __init__(self, status: str, reason: str, exit_code: int | None = None, *, infrastructure: bool = False) -> None:
        """Keep the facts.

        Args:
            status: A terminal `JobStatus`.
            reason: Empty when all went well.
            exit_code: As a shell shows it: 128 + the signal's number for a signal.
            infrastructure: Neither the function nor the user ended it, so that another attempt may help.
        """
        self.status = status
        self.reason = reason
        self.exit_code = exit_code
        self.infrastructure = infrastructure


def outcome_of(wait_status: int, *, has_result: bool) -> Outcome:
    """Say how a runner ended.

    Args:
        wait_status: As `os.waitpid` returns it.
        has_result: It left a result, or whether it did cannot be known.

    >>> outcome_of(0, has_result=False).reason
    'exited without a result'
    >>> outcome_of(9, has_result=False).reason
    'killed by SIGKILL, possibly out of memory'
    """
    code = os.waitstatus_to_exitcode(wait_status)
    if code == 0:
        return Outcome("SUCCEEDED", "", 0) if has_result else Outcome("FAILED", "exited without a result", 0)
    number = -code if code < 0 else code - 128
    if number == signal.SIGKILL:
        return Outcome("FAILED", "killed by SIGKILL, possibly out of memory", 137, infrastructure=True)
    if number == signal.SIGTERM:
        return Outcome("FAILED", "terminated by SIGTERM", 143, infrastructure=True)
    if number > 0:
        return Outcome("FAILED", f"killed by {_name(number)}", 128 + number)
    if code == 1 and has_result:
        return Outcome("FAILED", "the function, or a step before it, failed (exit code 1)", 1)
    return Outcome(
        "FAILED", f"exited with code {code} without a result" if not has_result else f"exited with code {code}", code
    )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
