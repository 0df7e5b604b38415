"""An executor for which it is no failure that a thread cannot be started."""

import subprocess
import sys
import threading

import pytest

from kinetic_core.model.threads import Threads
from tests.fakes.threadless import no_more_threads

LATE = """\
import threading, time
from kinetic_core.model.threads import Threads

def late():
    threading.main_thread().join()
    with Threads(2) as threads:
        print(list(threads.map(abs, [-1, -2, -3])))

threading.Thread(target=late).start()
"""


def fail(number: int) -> None:
    raise LookupError(number)


def test_threads_do_the_work_where_they_can_be_had() -> None:
    with Threads(2) as threads:
        assert threads.submit(threading.current_thread).result() is not threading.current_thread()
        with pytest.raises(LookupError):
            threads.submit(fail, 3).result()


def test_the_callers_own_does_it_where_none_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    no_more_threads(monkeypatch)
    with Threads(2) as threads:
        assert threads.submit(threading.current_thread).result() is threading.current_thread()
        assert list(threads.map(abs, [-1, -2])) == [1, 2]
        failed = threads.submit(fail, 3)
        with pytest.raises(LookupError):
            failed.result()


def test_nothing_is_done_twice_where_some_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """The executor takes work before it starts a thread for it, and those that there are get it too."""
    held, done = threading.Event(), list[int]()
    with Threads(2) as threads:
        first = threads.submit(held.wait, 60)
        with monkeypatch.context() as full:
            no_more_threads(full)
            threads.submit(done.append, 1).result()
        held.set()
        assert first.result()
    assert done == [1]


def test_what_was_called_off_is_not_done() -> None:
    held, done = threading.Event(), list[int]()
    with Threads(1) as threads:
        threads.submit(held.wait, 60)
        assert threads.submit(done.append, 1).cancel()
        held.set()
    assert done == []


def test_work_goes_on_when_the_main_thread_has_ended() -> None:
    ran = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.stdout, ran.stderr) == ("[1, 2, 3]\n", "")
