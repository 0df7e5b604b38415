"""The supervisor that a standby made ahead, and the runner that waits beside it."""

import _socket  # `socket` takes as long to import as all the rest that a supervisor needs
import marshal
import os
import sys
from contextlib import suppress
from typing import Final

from kinetic_local.job import LENGTH_BYTES, Job
from kinetic_local.pod import LOG, open_log
from kinetic_local.spawn import adopt_orphans, kill_when_closed, spawn
from kinetic_local.supervisor import see_through

_LOCKS: Final = 2
_BLOCK_BYTES: Final = 1 << 16
_INT_BYTES: Final = 4


def supervise(channel: int, taking: int, pid: int, *, theirs: int, telling: int, has_time: bool) -> None:
    """Wait for one job and see it through; without a whole job there is nothing to do.

    Args:
        channel: Where the job comes from.
        taking: Where to say that the job is there.
        pid: Of the runner that waits.
        theirs: The runner's end of the pipe whose closing kills it.
        telling: Where the runner is told what to run.
        has_time: Whether to do ahead what is needed in any case.
    """
    try:
        os.setpgid(pid, pid)
    except OSError:
        return
    kill_when_closed(theirs, pid)
    os.close(theirs)
    if has_time:
        adopt_orphans()
    job = _receive(channel)
    if job is None:
        return
    with suppress(BrokenPipeError):
        # When the standby was killed meanwhile, this was its last job.
        os.write(taking, b"1")
    log = open_log(job.pod)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    parked = _Parked(pid, telling, f"{job.pod}/{LOG}")
    see_through(job, parked.start, before_waiting=parked.let_go)


class _Parked:
    """A runner that waits to be told what to run, once."""

    def __init__(self, pid: int, telling: int, log: str) -> None:
        self._pid = pid
        self._telling = telling
        self._log = log

    def start(self, command: list[str], environ: dict[str, str], directory: str, default_signals: list[int]) -> int:
        """Let the runner run; further attempts, and one whose runner died while it waited, start another."""
        pid, self._pid = self._pid, 0
        try:
            if pid and _told(self._telling, marshal.dumps((command, environ, directory, self._log))):
                return pid
        finally:
            if pid:
                os.close(self._telling)
        return spawn(command, environ, directory, default_signals)

    def let_go(self) -> None:
        """Let the runner end: a long queue would hold the memory of as many."""
        pid, self._pid = self._pid, 0
        os.close(self._telling)
        os.waitpid(pid, 0)


def _told(telling: int, message: bytes) -> bool:
    rest = memoryview(message)
    try:
        while rest:
            rest = rest[os.write(telling, rest) :]
    except BrokenPipeError:
        return False
    return True


def _receive(channel: int) -> Job | None:
    client = _socket.socket(fileno=channel)
    try:
        data, attached, _, _ = client.recvmsg(
            _BLOCK_BYTES, _socket.CMSG_LEN(_LOCKS * _INT_BYTES), _socket.MSG_CMSG_CLOEXEC
        )
        while len(data) < LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little"):
            more = client.recv(_BLOCK_BYTES)
            if not more:
                return None
            data += more
    except ConnectionResetError:
        # The client ended, and had not read which process this is.
        return None
    finally:
        client.close()
    sent = b"".join(part for _, kind, part in attached if kind == _socket.SCM_RIGHTS)
    locks = [int.from_bytes(sent[at : at + _INT_BYTES], sys.byteorder) for at in range(0, len(sent), _INT_BYTES)]
    job = Job.from_bytes(data[LENGTH_BYTES:]) if len(locks) == _LOCKS else None
    if job is not None:
        job.live_fd, job.ticket_fd = locks
    return job
