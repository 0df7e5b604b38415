"""The supervisor's first moments: read the job and start its runner, before anything else is imported.

A bare interpreter starts in a few milliseconds, and `signal`, `json`, `contextlib`, `typing` or `pathlib` take
as long again. So this module and what it imports use `os`, `time`, `marshal` and `fcntl` alone; the rest is
loaded while the runner starts.
"""

import os

from kinetic_local.job import Job
from kinetic_local.spawn import spawn
from kinetic_local.turns import take_slot


class Attempt:
    """A runner that was started, or the reason why none was."""

    __slots__ = ("error", "folder", "pid")

    def __init__(self, folder: str, pid: int, error: OSError | None) -> None:
        """Keep the facts.

        Args:
            folder: The attempt's private folder.
            pid: The runner's process id and group; 0 when it could not be started.
            error: Why not.
        """
        self.folder = folder
        self.pid = pid
        self.error = error


def main() -> None:
    """Read one job from standard input and see it through; without a whole job there is nothing to do."""
    chunks = []
    while chunk := os.read(0, 1 << 16):
        chunks.append(chunk)
    job = Job.from_bytes(b"".join(chunks))
    if job is None:
        return
    for lock in (job.live_fd, job.ticket_fd):
        os.set_inheritable(lock, False)  # noqa: FBT003 - the standard library's own spelling
    has_slot = take_slot(job.queue, job.ticket, job.limit) is not None
    first = start(job, 1) if has_slot else None

    from kinetic_local.supervision import Supervision

    Supervision(job).run(first)


def start(job: Job, number: int) -> Attempt:
    """Make the private folder of the attempt of that number, and start a runner in it."""
    folder = f"{job.folder}-{number}"
    workspace, mounts, temporary = (f"{folder}/{name}" for name in ("workspace", "mounts", "temporary"))
    try:
        for path in (folder, workspace, mounts, temporary):
            os.mkdir(path, 0o700)  # noqa: PTH102 - pathlib would double the time until the runner starts
        environ = job.environ | {"TMPDIR": temporary, "KINETIC_MOUNT_ROOT": mounts}
        pid = spawn([*job.command, "--workspace", workspace], environ, folder, job.default_signals)
    except OSError as error:
        return Attempt(folder, 0, error)
    return Attempt(folder, pid, None)
