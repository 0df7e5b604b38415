"""Outcomes: what a runner's end means, in words for a person."""

import os
import signal
from collections.abc import Mapping

_NOT_STARTED = (1, 127)
"""Exit codes of an interpreter, and of the loader before it, that cannot start; a runner that has started leaves a
record."""


class Outcome:
    """How one attempt ended."""

    __slots__ = ("also_failed", "exit_code", "failed_host", "infrastructure", "reason", "status")

    def __init__(
        self,
        status: str,
        reason: str,
        exit_code: int | None = None,
        *,
        infrastructure: bool = False,
        failed_host: int | None = None,
        also_failed: tuple[int, ...] = (),
    ) -> None:
        """Keep the facts.

        Args:
            status: A terminal `JobStatus`.
            reason: Empty when all went well.
            exit_code: As a shell shows it: 128 + the signal's number for a signal.
            infrastructure: Neither the function nor the user ended it, so that another attempt may help.
            failed_host: The host that this is about, where there are several.
            also_failed: The others that failed by themselves.
        """
        self.status = status
        self.reason = reason
        self.exit_code = exit_code
        self.infrastructure = infrastructure
        self.failed_host = failed_host
        self.also_failed = also_failed


class Limits:
    """The limits of a runner, as the user wrote them; empty and `None` for none."""

    __slots__ = ("cpu_time_s", "memory")

    def __init__(self, *, memory: str = "", cpu_time_s: float | None = None) -> None:
        """Keep the facts.

        Args:
            memory: Of each process, with its unit.
            cpu_time_s: Processor time of each process.
        """
        self.memory = memory
        self.cpu_time_s = cpu_time_s


def outcome_of(
    wait_status: int, *, has_result: bool, limits: Limits | None = None, lacked_memory: bool = False
) -> Outcome:
    """Say how a runner ended.

    Args:
        wait_status: As `os.waitpid` returns it.
        has_result: It left a record, or needed none, or whether it did cannot be known.
        limits: That it had.
        lacked_memory: Its record tells of memory that could not be had.

    >>> outcome_of(0, has_result=False).reason
    'exited without a result'
    >>> outcome_of(9, has_result=False).reason
    'killed by SIGKILL, possibly out of memory'
    """
    limits = limits or Limits()
    code = os.waitstatus_to_exitcode(wait_status)
    if code == 0:
        return Outcome("SUCCEEDED", "", 0) if has_result else Outcome("FAILED", "exited without a result", 0)
    number = -code if code < 0 else code - 128
    if number == signal.SIGXCPU and limits.cpu_time_s is not None:
        return Outcome("FAILED", f"used up its processor time: limited to {limits.cpu_time_s:g} s", 128 + number)
    bound = f": limited to {limits.memory}" if limits.memory else ""
    if number > 0:
        return _killed(number, bound, limits.cpu_time_s)
    if code == 1 and has_result:
        told = f"out of memory{bound}" if lacked_memory else "the function, or a step before it, failed"
        return Outcome("FAILED", f"{told} (exit code 1)", 1)
    told = f"exited with code {code}" if has_result else f"exited with code {code} without a result"
    if bound and not has_result and code in _NOT_STARTED:
        told = f"{told}, possibly out of memory{bound}; an interpreter needs more to start, so raise memory_limit="
    return Outcome("FAILED", told, code)


def outcome_of_hosts(failed: Mapping[int, Outcome], *, hosts: int) -> Outcome:
    """Say how a job ended, of which some hosts failed by themselves.

    >>> outcome_of_hosts({2: Outcome("FAILED", "gone"), 1: Outcome("FAILED", "lost")}, hosts=3).reason
    'host 1: lost; also failed: host 2'
    """
    if not failed:
        return Outcome("SUCCEEDED", "", 0)
    first = min(failed)
    outcome = failed[first]
    if hosts == 1:
        return outcome
    others = tuple(host for host in sorted(failed) if host != first)
    too = f"; also failed: {', '.join(f'host {host}' for host in others)}" if others else ""
    return Outcome(
        outcome.status,
        f"host {first}: {outcome.reason}{too}",
        outcome.exit_code,
        infrastructure=all(one.infrastructure for one in failed.values()),
        failed_host=first,
        also_failed=others,
    )


def _killed(number: int, bound: str, cpu_time_s: float | None) -> Outcome:
    if number == signal.SIGKILL:
        # So ends what ignores the signal before.
        used_up = "" if cpu_time_s is None else f", or its processor time used up: limited to {cpu_time_s:g} s"
        reason = f"killed by SIGKILL, possibly out of memory{bound}{used_up}"
        return Outcome("FAILED", reason, 137, infrastructure=True)
    if number == signal.SIGTERM:
        return Outcome("FAILED", "terminated by SIGTERM", 143, infrastructure=True)
    # What allocates below Python often aborts where it gets no memory.
    maybe = f", possibly out of memory{bound}" if bound else ""
    return Outcome("FAILED", f"killed by {_name(number)}{maybe}", 128 + number)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
