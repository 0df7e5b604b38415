"""The standby: an interpreter that has imported the runner, and makes the processes of the next job ahead.

It never runs a job itself. For each it forks a supervisor, and that forks a runner, which waits: when the job comes,
nothing has to be started or imported. Both serve that one job, and the processes for the next are made at once.

The runner must not differ from one that was started for its job, so it forgets the modules that the supervisor needs
besides. See docs/adr/0016.
"""

import gc
import marshal
import os
import signal
import sys
import time
from importlib import import_module

from kinetic_local.parked import supervise

_BLOCK_BYTES = 1 << 16
_LAST_STREAM = 2
_WAYS = 10
_WAY_S = 0.003


def stand_by(channel: int, ending: int, modules: frozenset[str]) -> None:
    """Make the processes of one job after the other until the client is gone; return in each runner that has a job.

    Args:
        channel: A socket to the client: ids of supervisors go out, jobs come in.
        ending: Where supervisors say that they have told the end of a job.
        modules: Names of those that a runner has imported when it begins; it forgets all others.
    """
    _detach(channel, ending)
    os.set_blocking(ending, False)
    # The kernel collects supervisors that ended, so that none is mistaken for a living one.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # The first job is on its way already: what else can be done ahead would only delay it.
    has_time = False
    while True:
        taken, taking = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(taken)
            _supervise(channel, taking, ending, modules, has_time=has_time)
            return
        os.close(taking)
        try:
            os.write(channel, b"%d\n" % pid)
        except OSError:
            os._exit(0)
        # A byte comes when the supervisor has a job. One that ended without must not be followed by others for ever.
        if not os.read(taken, 1):
            os._exit(0)
        _give_way(taken)
        os.close(taken)
        has_time = True
        # The first supervisor imports it while its runner runs.
        import_module("kinetic_local.supervision")


def _give_way(ending: int) -> None:
    """Let a job that is short end before anything is done for the next one: that would take its processor away."""
    os.set_blocking(ending, False)
    for _ in range(_WAYS):
        try:
            os.read(ending, 1)
        except BlockingIOError:
            time.sleep(_WAY_S)
        else:
            return


def _detach(*kept: int) -> None:
    """Be in nobody's session, in no directory that may go, with no files open but the ones that are kept."""
    os.setsid()
    os.chdir("/")
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the runner's own imports are late
        descriptor = int(name)
        if descriptor > _LAST_STREAM and descriptor not in kept:
            try:  # noqa: SIM105 - as above
                os.close(descriptor)
            except OSError:
                pass  # the one that listed the others


def _supervise(channel: int, taking: int, ending: int, modules: frozenset[str], *, has_time: bool) -> None:
    """Be the supervisor of the next job; return in its runner."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    theirs, ours = os.pipe()
    waiting, telling = os.pipe()
    os.set_inheritable(theirs, True)  # noqa: FBT003 - the standard library's own spelling
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        for descriptor in (channel, taking, ending, ours, telling):
            os.close(descriptor)
        for name in sys.modules.keys() - modules:
            del sys.modules[name]
        if has_time:
            _own_memory()
        _become_runner(waiting)
        return
    os.close(waiting)
    supervise(channel, taking, pid, theirs=theirs, telling=telling, has_time=has_time)
    # The client need not wait until this process is gone: of what it has, only memory is left.
    try:  # noqa: SIM105 - as above
        os.write(ending, b"1")
    except OSError:
        pass
    # `ours` is open up to here: when it closes, the kernel kills the runner.
    os._exit(0)


def _own_memory() -> None:
    """Write to every object once: the kernel copies what is shared with the parent now, and not when the job ends."""
    gc.unfreeze()
    for one in gc.get_objects():
        gc.get_referents(one)
    gc.freeze()


def _become_runner(waiting: int) -> None:
    """Wait for the job, and take on what a runner that is started for it begins with."""
    chunks = []
    while chunk := os.read(waiting, _BLOCK_BYTES):
        chunks.append(chunk)
    os.close(waiting)
    if not chunks:
        os._exit(0)
    command, environ, folder, log = marshal.loads(b"".join(chunks))  # noqa: S302 - from this process's parent
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.orig_argv = command
    # `runpy` puts the program's path in the place of its name.
    sys.argv = command[command.index("-m") + 1 :]
