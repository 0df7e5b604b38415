import signal

import pytest

from kinetic_local.outcome import Limits, outcome_of, outcome_of_hosts


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


@pytest.mark.parametrize("code", [1, 127])
def test_an_interpreter_that_does_not_start_within_its_memory_says_so(code: int) -> None:
    outcome = outcome_of(code << 8, has_result=False, limits=Limits(memory="20Mi"))
    assert outcome.reason == (
        f"exited with code {code} without a result, possibly out of memory: limited to 20Mi;"
        " an interpreter needs more to start, so raise memory_limit="
    )


@pytest.mark.parametrize(
    ("number", "limits", "reason"),
    [
        (signal.SIGXCPU, Limits(cpu_time_s=2.5), "used up its processor time: limited to 2.5 s"),
        (signal.SIGXCPU, Limits(), "killed by SIGXCPU"),
        (signal.SIGKILL, Limits(memory="2Gi"), "killed by SIGKILL, possibly out of memory: limited to 2Gi"),
        (
            signal.SIGKILL,
            Limits(cpu_time_s=2),
            "killed by SIGKILL, possibly out of memory, or its processor time used up: limited to 2 s",
        ),
        (signal.SIGABRT, Limits(memory="2Gi"), "killed by SIGABRT, possibly out of memory: limited to 2Gi"),
        (signal.SIGTERM, Limits(memory="2Gi", cpu_time_s=2), "terminated by SIGTERM"),
    ],
)
def test_an_end_that_a_limit_brought_names_it(number: signal.Signals, limits: Limits, reason: str) -> None:
    assert outcome_of(int(number), has_result=False, limits=limits).reason == reason


def test_a_record_that_tells_of_missing_memory_is_out_of_memory() -> None:
    outcome = outcome_of(1 << 8, has_result=True, limits=Limits(memory="2Gi"), lacked_memory=True)
    assert (outcome.reason, outcome.infrastructure) == ("out of memory: limited to 2Gi (exit code 1)", False)


def test_of_several_hosts_the_lowest_that_failed_is_told_and_the_others_are_named() -> None:
    killed, failed = outcome_of(9, has_result=False), outcome_of(1 << 8, has_result=True)
    told = outcome_of_hosts({3: killed, 1: failed, 2: killed}, hosts=4)
    assert (told.status, told.exit_code, told.failed_host, told.also_failed) == ("FAILED", 1, 1, (2, 3))
    assert told.reason == (
        "host 1: the function, or a step before it, failed (exit code 1); also failed: host 2, host 3"
    )
    # Only where none failed by the function may another attempt help.
    assert not told.infrastructure
    assert outcome_of_hosts({3: killed, 2: killed}, hosts=4).infrastructure


def test_a_single_host_is_not_numbered_and_no_failure_is_success() -> None:
    killed = outcome_of(9, has_result=False)
    assert outcome_of_hosts({0: killed}, hosts=1) is killed
    assert outcome_of_hosts({}, hosts=3).status == "SUCCEEDED"
