"""Starting the runner: its own process group, nothing open but its log, and dead when its supervisor is."""

import fcntl
import os

from kinetic_local.descriptors import clear_of_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    StartRunner = Callable[[list[str], dict[str, str], str, list[int]], int]
    """Starts a runner as `spawn` does."""

# POSIX fixes the number; importing `signal` would delay the runner.
_SIGKILL = 9
_SET_CHILD_SUBREAPER = 36
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def spawn(
    command: list[str], environ: dict[str, str], directory: str, default_signals: list[int], *, log: str = ""
) -> int:
    """Start the runner as leader of its own process group; return its process id.

    Its output goes where this process's goes, or to a log of its own, it reads nothing, and on Linux the kernel kills
    the whole group when this process dies.

    Args:
        command: Program and arguments.
        environ: Its whole environment.
        directory: Its working directory.
        default_signals: Signals that it must not ignore, though an ancestor may (`nohup`): exec resets handlers only.
        log: Path of its own log.

    Raises:
        OSError: It could not be started.
    """
    output = [(os.POSIX_SPAWN_OPEN, 1, log, _APPEND, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)] if log else []
    theirs, _ours = map(clear_of_streams, os.pipe())
    os.set_inheritable(theirs, True)  # noqa: FBT003 - the standard library's own spelling
    os.chdir(directory)
    try:
        pid = os.posix_spawn(
            command[0],
            command,
            environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), *output],
            setpgroup=0,
            setsigmask=[],
            setsigdef=default_signals,
        )
        kill_when_closed(theirs, pid)
    finally:
        os.chdir("/")
        os.close(theirs)
    # `_ours` stays open as long as this process lives: that is the whole mechanism.
    return pid


def kill_when_closed(theirs: int, group: int) -> None:
    """Let the kernel send SIGKILL to the group when the pipe's other end closes.

    A parent-death signal would need ctypes before the first job line runs; asynchronous input on a pipe
    that nobody writes to does the same with three calls.
    """
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(theirs, fcntl.F_SETOWN, -group)
        fcntl.fcntl(theirs, fcntl.F_SETSIG, _SIGKILL)
        fcntl.fcntl(theirs, fcntl.F_SETFL, fcntl.fcntl(theirs, fcntl.F_GETFL) | os.O_ASYNC)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents die, so that none escapes. Only Linux can.

    A runner may leave its session and die in its first millisecond, so this comes before it is started. What `ctypes`
    itself stands on is there ten times as fast, and where an interpreter lacks it, `ctypes` does the same.
    """
    try:
        try:
            from _ctypes import RTLD_GLOBAL, call_function, dlopen, dlsym

            program = dlopen(None, RTLD_GLOBAL)  # type: ignore[arg-type]  # this program itself, as for `CDLL`
            call_function(dlsym(program, "prctl"), (_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
        except (ImportError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, AttributeError, OSError):
        return
