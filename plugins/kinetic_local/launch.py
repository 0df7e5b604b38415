"""Starting a supervisor from the client: it belongs to no terminal, no session and no parent of the client's."""

import functools
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import kinetic_core
from kinetic_core.errors import SubmissionError
from kinetic_core.model.brokenpipe import broken_pipe_is_an_error
from kinetic_local.job import Job
from kinetic_local.places import remove_private
from kinetic_local.pod import LOG, append_event, open_events, open_log
from kinetic_local.processes import is_still, start_mark
from kinetic_local.reserve import Standby

if TYPE_CHECKING:
    import subprocess

_DEATH_S: Final = 2.0
_POLL_S: Final = 0.005
# The first process ends at once, so that the client has no child to wait for; the second is the supervisor.
_BOOT: Final = """\
import os, sys
pid = os.fork()
if pid:
    os.write(1, b"%d\\n" % pid)
    os._exit(0)
os.setsid()
os.dup2(2, 1)
sys.path += sys.argv[1:]
from kinetic_local.supervisor import main
main()
os._exit(0)
"""


def launch(job: Job, environ: Mapping[str, str]) -> None:
    """Start the supervisor, and hand it the job and its locks.

    Args:
        job: What to see through; its locks are held by this process and shared with the supervisor.
        environ: The supervisor's own environment, without secrets.

    Raises:
        SubmissionError: The interpreter did not start.
    """
    import subprocess  # a job whose processes wait for it needs none of it

    log = open_log(job.pod)
    try:
        process = subprocess.Popen(
            _command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            env=dict(environ),
            pass_fds=(job.live_fd, job.ticket_fd),
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        raise SubmissionError(f"the local backend cannot start {sys.executable}: {error.strerror}") from error
    finally:
        os.close(log)
    with process:
        pid = _process_id(process, job)
        with _whole(job, pid):
            assert process.stdin is not None  # noqa: S101 - for the type checker: it is a pipe
            _hand_over(job, pid, functools.partial(_write, process.stdin.fileno()))


def launch_ahead(job: Job, standby: Standby, pid: int) -> None:
    """Hand the job and its locks to a supervisor that waits for one.

    Args:
        job: As for `launch`.
        standby: Where it waits.
        pid: Its process id.

    Raises:
        SubmissionError: It is gone.
    """
    os.close(open_log(job.pod))
    with _whole(job, pid):
        _hand_over(job, pid, lambda data: standby.send(data, (job.live_fd, job.ticket_fd)))


@contextmanager
def _whole(job: Job, pid: int) -> Iterator[None]:
    """Also when the user interrupts at the last moment: what could not be submitted must not run."""
    try:
        yield
    except BaseException:
        _kill(pid)
        remove_private(job.folder)
        raise


def _kill(pid: int) -> None:
    """Kill the supervisor, and with it its runner, and wait until it is gone."""
    mark, deadline_s = start_mark(pid), time.monotonic() + _DEATH_S
    if is_still(pid, mark):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while is_still(pid, mark) and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)


def _process_id(process: "subprocess.Popen[bytes]", job: Job) -> int:
    assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
    said = process.stdout.readline()
    if not said:
        log = (Path(job.pod) / LOG).read_text(errors="replace")
        raise SubmissionError(f"the local backend's supervisor did not start: {log.strip()}")
    return int(said)


def _hand_over(job: Job, pid: int, send: Callable[[bytes], None]) -> None:
    try:
        events = open_events(job.pod)
        append_event(
            events,
            "job_submitted",
            "PENDING",
            pid=pid,
            mark=start_mark(pid),
            live=job.live,
            folder=job.folder,
            ticket=f"{job.queue}/{job.ticket}",
            limit=job.limit,
            hosts=job.hosts,
        )
        os.close(events)
        with broken_pipe_is_an_error():
            send(job.to_bytes())
    except OSError as error:
        raise SubmissionError(f"the local backend cannot hand the job over: {error.strerror}") from error


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _command() -> list[str]:
    paths = (Path(__file__).parents[1], Path(kinetic_core.__file__).parents[1])
    return [sys.executable, "-I", "-S", "-c", _BOOT, *dict.fromkeys(map(str, paths))]
