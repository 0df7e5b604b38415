import signal

import pytest

from kinetic_local.outcome import outcome_of


@pytest.mark.parametrize(
    ("exit_code", "has_result", "status", "reason"),
    [
        (0, True, "SUCCEEDED", ""),
        (0, False, "FAILED", "exited without a result"),
        (1, True, "FAILED", "the function, or a step before it, failed (exit code 1)"),
        (1, False, "FAILED", "exited with code 1 without a result"),
        (2, False, "FAILED", "exited with code 2 without a result"),
        (3, True, "FAILED", "exited with code 3"),
        (137, False, "FAILED", "killed by SIGKILL, possibly out of memory"),
        (139, False, "FAILED", "killed by SIGSEGV"),
        (143, True, "FAILED", "terminated by SIGTERM"),
        (255, False, "FAILED", "killed by signal 127"),
    ],
)
def test_an_exit_code_is_told_in_one_sentence(exit_code: int, has_result: bool, status: str, reason: str) -> None:
    outcome = outcome_of(exit_code << 8, has_result=has_result)
    assert (outcome.status, outcome.reason, outcome.exit_code) == (status, reason, exit_code)


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGKILL, "killed by SIGKILL, possibly out of memory"),
        (signal.SIGTERM, "terminated by SIGTERM"),
        (signal.SIGABRT, "killed by SIGABRT"),
    ],
)
def test_a_signal_is_told_by_name_with_the_code_of_a_shell(number: signal.Signals, reason: str) -> None:
    outcome = outcome_of(int(number), has_result=False)
    assert (outcome.reason, outcome.exit_code) == (reason, 128 + number)


def test_only_what_neither_function_nor_user_did_may_be_repeated() -> None:
    repeated = [code for code in range(256) if outcome_of(code << 8, has_result=True).infrastructure]
    assert repeated == [137, 143]
