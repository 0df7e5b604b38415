import os
import signal
import subprocess
import sys

import pytest

from kinetic_local import processes
from kinetic_local.processes import descendants, is_still, signal_all, start_mark

NO_SUCH_PROCESS = 2**22 - 1


@pytest.fixture(params=["/proc", "/nowhere"], ids=["proc", "ps"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn about processes both ways."""
    monkeypatch.setattr(processes, "_PROC", request.param)


def sleeper(**options: bool) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    return subprocess.Popen(command, start_new_session=options.get("apart", False))


@pytest.mark.usefixtures("source")
def test_a_process_has_a_mark_that_stays() -> None:
    assert start_mark(os.getpid()) == start_mark(os.getpid()) != ""


@pytest.mark.usefixtures("source")
def test_no_process_has_no_mark() -> None:
    assert start_mark(NO_SUCH_PROCESS) == ""


def test_two_processes_have_different_marks() -> None:
    with sleeper() as child:
        assert start_mark(child.pid) != start_mark(os.getppid())
        child.kill()


@pytest.mark.usefixtures("source")
def test_descendants_are_found_at_any_depth_and_in_any_session() -> None:
    program = (
        "import subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'], start_new_session=True);"
        "print(child.pid, flush=True); child.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        found = descendants(os.getpid())
        assert {child.pid, grandchild} <= set(found)
        assert os.getpid() not in found
        signal_all(NO_SUCH_PROCESS, (child.pid, grandchild), signal.SIGKILL)


def test_a_zombie_is_no_living_descendant() -> None:
    child = sleeper()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert child.pid not in descendants(os.getpid())
    child.wait()


def test_a_name_with_spaces_and_parentheses_confuses_nobody() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "open('/proc/self/comm', 'w').write('a) R 1 (b'); print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert child.pid in descendants(os.getpid())
        assert start_mark(child.pid).isdigit()
        child.kill()


def test_a_signal_reaches_the_group_and_the_others() -> None:
    with sleeper(apart=True) as leader, sleeper(apart=True) as other:
        signal_all(leader.pid, (other.pid, NO_SUCH_PROCESS), signal.SIGKILL)
        assert (leader.wait(), other.wait()) == (-signal.SIGKILL, -signal.SIGKILL)


@pytest.mark.parametrize(
    ("group", "pids"), [(0, ()), (1, ()), (-1, ()), (NO_SUCH_PROCESS, (0,)), (None, (NO_SUCH_PROCESS, -1))]
)
def test_no_signal_ever_goes_to_a_number_that_means_more_than_one_group(
    group: int | None, pids: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match="refusing to send SIGCONT"):
        signal_all(group, pids, signal.SIGCONT)


def test_no_signal_ever_goes_to_the_callers_own_group() -> None:
    with pytest.raises(ValueError, match="refusing to send SIGCONT"):
        signal_all(os.getpgrp(), (), signal.SIGCONT)


@pytest.mark.usefixtures("source")
def test_a_process_id_without_a_mark_or_a_meaning_is_nobody() -> None:
    assert is_still(os.getpid(), start_mark(os.getpid()))
    assert not any(is_still(pid, start_mark(pid)) for pid in (0, 1, -1, NO_SUCH_PROCESS))
    assert not is_still(os.getpid(), "")
