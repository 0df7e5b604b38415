"""What a fork finds of a loop, and what it leaves to its parent."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kinetic_core.wire.forkableloop import ForkableLoop
from kinetic_core.wire.loopthread import LoopThread, _wait_for_the_end

if TYPE_CHECKING:
    from concurrent.futures import Future

# Of the threads of whoever runs the tests.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

seen: list[list[str]] = []
# Of hooks before a fork the latest is called first.
os.register_at_fork(before=lambda: seen.append([thread.name for thread in threading.enumerate()]))


def told(thread: LoopThread, call: Any) -> Any:
    """Return what a coroutine returns on the thread's loop."""
    future: Future[Any] = asyncio.run_coroutine_threadsafe(call, thread.loop)
    return future.result(60)


def forked(act: Callable[[], bool]) -> int:
    """Return the exit code of a fork: 0 where it acted well."""
    child = os.fork()
    if not child:
        try:
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def number() -> int:
    await asyncio.sleep(0)
    return 7


def test_there_is_no_thread_at_the_moment_of_a_fork_and_there_is_one_again() -> None:
    thread = LoopThread("of-this-test")
    assert told(thread, number()) == 7
    assert forked(lambda: True) == 0
    assert "of-this-test" not in seen[-1]
    assert told(thread, number()) == 7


def test_a_look_up_of_a_host_leaves_no_thread() -> None:
    thread = LoopThread("of-that-test")
    told(thread, thread.loop.getaddrinfo("localhost", 80))
    for other in threading.enumerate():
        if other.name == "kinetic-look-up":
            other.join(60)
    assert forked(lambda: True) == 0
    assert "kinetic-look-up" not in seen[-1]


def test_a_look_up_that_fails_says_why() -> None:
    thread = LoopThread("unlucky")
    with pytest.raises(socket.gaierror):
        told(thread, thread.loop.getaddrinfo("localhost", "no such port"))


def test_what_is_under_way_goes_on_after_a_fork() -> None:
    thread = LoopThread("busy")
    started, go_on = threading.Event(), asyncio.Event()

    async def wait() -> str:
        started.set()
        await go_on.wait()
        return "done"

    future = asyncio.run_coroutine_threadsafe(wait(), thread.loop)
    assert started.wait(60)
    assert forked(lambda: True) == 0
    thread.loop.call_soon_threadsafe(go_on.set)
    assert future.result(60) == "done"


def test_a_fork_has_a_loop_of_its_own() -> None:
    thread = LoopThread("inherited")
    before = thread.loop

    def act() -> bool:
        return before.is_closed() and thread.loop is not before and told(thread, number()) == 7

    assert forked(act) == 0
    assert thread.loop is before


def test_a_fork_before_the_first_use_changes_nothing() -> None:
    thread = LoopThread("unused")
    assert forked(lambda: told(thread, number()) == 7) == 0
    assert told(thread, number()) == 7


def test_a_fork_that_closes_what_it_inherited_takes_nothing_from_its_parent() -> None:
    thread = LoopThread("watching")
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    came = threading.Event()

    async def watch() -> None:
        asyncio.get_running_loop().add_reader(ours, came.set)

    told(thread, watch())
    inherited = thread.loop
    with ours, theirs:
        assert forked(lambda: not inherited.remove_reader(ours)) == 0
        theirs.send(b"1")
        assert came.wait(60)
        told(thread, _forget(ours))


async def _forget(watched: socket.socket) -> None:
    asyncio.get_running_loop().remove_reader(watched)


def test_a_fork_made_on_the_loop_leaves_it_running() -> None:
    thread = LoopThread("forking")

    async def fork() -> int:
        return forked(lambda: True)

    assert told(thread, fork()) == 0
    assert told(thread, number()) == 7


def test_forgetting_closes_the_loop_but_not_under_its_own_feet() -> None:
    # What a fork does, here where it is measured.
    idle, paused, running = (LoopThread(name) for name in ("idle", "paused", "running"))
    idle._pause()
    idle._forget()
    idle._pause()
    idle._go_on()
    loop = paused.loop
    paused._pause()
    paused._forget()
    assert loop.is_closed()
    assert paused.loop is not loop

    async def fork() -> bool:
        running._pause()
        running._forget()
        return asyncio.get_running_loop().is_closed()

    former = running.loop
    (its_thread,) = (other for other in threading.enumerate() if other.name == "running")
    assert told(running, fork()) is False
    former.call_soon_threadsafe(former.stop)
    its_thread.join(60)
    former.close()


def test_another_process_closes_a_loop_that_watches_nothing() -> None:
    loop = ForkableLoop()
    ours, theirs = socket.socketpair()
    loop.add_reader(ours, print)
    loop._made_by = -1
    loop.close()
    assert loop.is_closed()
    ours.close()
    theirs.close()


def test_the_kernel_has_done_with_the_thread_when_the_process_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a machine that has other things to do the thread may need longer for its end than a user should wait.
    monkeypatch.setattr("kinetic_core.wire.loopthread._MOST_LOOKS", 120_000)
    thread = LoopThread("counted")
    for _ in range(20):
        (its,) = (one for one in (thread.loop, *threading.enumerate()) if getattr(one, "name", "") == "counted")
        assert isinstance(its, threading.Thread)
        thread._pause()
        assert not Path(f"/proc/self/task/{its.native_id}").exists()
        thread._go_on()


def test_a_thread_that_does_not_end_is_waited_for_no_longer_than_a_moment() -> None:
    _wait_for_the_end(threading.current_thread())
    assert Path(f"/proc/self/task/{threading.get_native_id()}").exists() == Path("/proc").is_dir()
