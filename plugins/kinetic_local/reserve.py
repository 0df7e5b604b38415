"""The reserve: the standby that this process keeps for its next job."""

import atexit
import functools
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import kinetic_core
from kinetic_local.descriptors import clear_of_streams
from kinetic_local.inheritance import inheritance
from kinetic_local.job import LENGTH_BYTES
from kinetic_local.processes import start_mark

ENV_STANDBY: Final = "KINETIC_LOCAL_STANDBY"
_PATIENCE_S: Final = 10.0
_IS_LINUX: Final = sys.platform == "linux"
# The first process ends at once, so that the client has no child. The runner's modules are imported while the path is
# what it is for every runner; the driver itself imports none of them. A runner forgets what the driver imports besides,
# and does without `runpy`, which would look for the program once more.
_BOOT: Final = """\
import os
if os.fork():
    os._exit(0)
import faulthandler, importlib.util, runpy, sys
import kinetic_runner.leftovers, kinetic_runner.runner, kinetic_runner.streams
spec = importlib.util.find_spec("kinetic_runner.__main__")
main, code = importlib.util.module_from_spec(spec), spec.loader.get_code(spec.name)
path, modules = sys.path[:], frozenset(sys.modules)
sys.path += sys.argv[3:]
from kinetic_local.standby import stand_by
kinetic_runner.leftovers.spare_the_end()
stand_by(int(sys.argv[1]), int(sys.argv[2]), modules)
sys.path[:] = path
main.__name__, sys.argv[0], sys.modules["__main__"] = "__main__", spec.origin, main
exec(code, vars(main))
"""


class Standby:
    """A supervisor and its runner that wait for a job of this process, and end when it does."""

    def __init__(self, environ: Mapping[str, str], default_signals: Sequence[int], conditions: object) -> None:
        """Start one; this returns before it is ready.

        Args:
            environ: Its environment.
            default_signals: Signals that it must not ignore.
            conditions: What it was started under: a job that needs others cannot use it.

        Raises:
            OSError: It could not be started.
        """
        self.conditions = conditions
        self._channel, theirs = map(_clear_of_streams, socket.socketpair())
        self._channel.settimeout(_PATIENCE_S)
        self.endings, ending = map(_clear_of_streams, socket.socketpair(type=socket.SOCK_DGRAM))
        """Becomes readable when a supervisor has told the end of a job, before its own."""
        self.endings.settimeout(0)
        with theirs, ending:
            folders = dict.fromkeys(str(Path(file).parents[1]) for file in (__file__, kinetic_core.__file__))
            try:
                for one in (theirs, ending):
                    one.set_inheritable(True)
                self._first = os.posix_spawn(
                    sys.executable,
                    [sys.executable, "-P", "-c", _BOOT, str(theirs.fileno()), str(ending.fileno()), *folders],
                    environ,
                    file_actions=[
                        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                        *((os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)),
                    ],
                    setsigmask=[],
                    setsigdef=default_signals,
                )
            except OSError:
                self.close()
                raise

    def process_id(self) -> int:
        """Return the id of the supervisor that waits; 0 when there is none."""
        said = b""
        with suppress(OSError):
            while b"\n" not in said and (more := self._channel.recv(1)):
                said += more
        self._reap()
        return int(said) if said.endswith(b"\n") else 0

    def send(self, message: bytes, locks: Sequence[int]) -> None:
        """Send the supervisor that waits its job.

        Raises:
            OSError: It is gone.
        """
        data = len(message).to_bytes(LENGTH_BYTES, "little") + message
        sent = socket.send_fds(self._channel, [data], list(locks))
        self._channel.sendall(data[sent:])

    def close(self) -> None:
        """Let it go: it ends at once."""
        self._channel.close()
        self.endings.close()

    def dismiss(self) -> None:
        """Let it go, and collect the process that started it."""
        self.close()
        self._reap()

    def _reap(self) -> None:
        """Collect the process that was started, which left its place to another and ended."""
        first, self._first = self._first, 0
        if first:
            with suppress(ChildProcessError):
                os.waitpid(first, 0)


class Reserve:
    """Keeps at most one standby: jobs take turns in handing over, and none of it is seen by a fork of this process."""

    def __init__(self) -> None:
        """Keep none yet."""
        self._lock = threading.Lock()
        self._standby: Standby | None = None
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.dismiss)

    @property
    def is_ready(self) -> bool:
        """Tell whether a standby is there or on its way; whether it fits is asked when a job is handed over."""
        return self._standby is not None

    def prepare(self, environ: Mapping[str, str], default_signals: Sequence[int]) -> None:
        """See to it that a standby is there or on its way, started as a runner would be now."""
        with self._lock, suppress(OSError):
            if self._standby is None:
                self._standby = Standby(environ, default_signals, _conditions(environ))

    @property
    def endings(self) -> socket.socket | None:
        """What becomes readable when a job has ended, its or another; of some jobs it never does."""
        standby = self._standby
        return None if standby is None else standby.endings

    @contextmanager
    def taken(self, environ: Mapping[str, str]) -> Iterator[tuple[Standby, int] | None]:
        """Yield a standby for one job, and the id of the supervisor in it, when there is one that fits.

        What fails while it is held costs the reserve its standby: nobody knows how far it came.
        """
        with self._lock:
            standby = self._standby
            if standby is None:
                yield None
                return
            pid = standby.process_id() if standby.conditions == _conditions(environ) else 0
            if not start_mark(pid):
                self._drop()
                yield None
                return
            try:
                yield standby, pid
            except BaseException:
                self._drop()
                raise

    def dismiss(self) -> None:
        """Let go of the standby, if there is one."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        standby, self._standby = self._standby, None
        if standby is not None:
            standby.dismiss()

    def _forget(self) -> None:
        """Leave the standby to the process that this one is a fork of."""
        self._lock = threading.Lock()
        standby, self._standby = self._standby, None
        if standby is not None:
            standby.close()


@functools.cache
def reserve() -> Reserve:
    """Return this process's reserve."""
    return Reserve()


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Tell whether jobs may use a standby: on Linux, unless `KINETIC_LOCAL_STANDBY` is 0.

    >>> is_wanted({"KINETIC_LOCAL_STANDBY": "0"})
    False
    """
    return _IS_LINUX and environ.get(ENV_STANDBY, "").strip() != "0"


def _clear_of_streams(one: socket.socket) -> socket.socket:
    return socket.socket(fileno=clear_of_streams(one.detach()))


def _conditions(environ: Mapping[str, str]) -> object:
    return (sys.executable, dict(environ), inheritance())
