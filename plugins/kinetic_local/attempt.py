"""An attempt: private folders with a runner in each. Imported before anything else is, see `supervisor`."""

import os

from kinetic_local.job import Job
from kinetic_local.spawn import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinetic_local.rendezvous import Rendezvous
    from kinetic_local.spawn import StartRunner


class Attempt:
    """Runners that were started, and the reason why one was not."""

    __slots__ = ("error", "folder", "pids", "rendezvous")

    def __init__(self, folder: str) -> None:
        """Begin without any runner.

        Args:
            folder: The attempt's private folder.
        """
        self.folder = folder
        self.pids: list[int] = []
        """The runners' process ids and groups, by host."""
        self.rendezvous: Rendezvous | None = None
        """Where several hosts can meet, kept as long as the attempt."""
        self.error: OSError | None = None
        """Why not all hosts have one."""


def start(job: Job, number: int, start_runner: "StartRunner") -> Attempt:
    """Make the private folder of the attempt of that number, and start its runners, the first by `start_runner`."""
    attempt = Attempt(f"{job.folder}-{number}")
    try:
        os.mkdir(attempt.folder, 0o700)  # noqa: PTH102 - pathlib would double the time until the runner starts
        if job.hosts > 1:
            from kinetic_local.rendezvous import Rendezvous

            attempt.rendezvous = Rendezvous()
        # Each runner reaches the store, which this process may not.
        environ = job.environ if number == 1 else job.environ | {"KINETIC_ATTEMPT": str(number)}
        if attempt.rendezvous is not None:
            environ = environ | {"KINETIC_COORDINATOR": attempt.rendezvous.address}
        for host in range(job.hosts):
            _start_host(attempt, job, host, environ, start_runner)
    except OSError as error:
        attempt.error = error
    return attempt


def _start_host(attempt: Attempt, job: Job, host: int, environ: "dict[str, str]", start_runner: "StartRunner") -> None:
    folder = attempt.folder
    if job.hosts > 1:
        folder = f"{folder}/{host}"
        os.mkdir(folder, 0o700)  # noqa: PTH102 - as above
        environ = environ | {"KINETIC_HOST_INDEX": str(host), "TPU_WORKER_ID": str(host)}
    # Volumes make the directory that they lie in; most jobs have none.
    workspace, mounts, temporary = (f"{folder}/{name}" for name in ("workspace", "mounts", "temporary"))
    for path in (workspace, temporary):
        os.mkdir(path, 0o700)  # noqa: PTH102 - as above
    command = [*job.command, "--workspace", workspace]
    environ = environ | {"TMPDIR": temporary, "KINETIC_MOUNT_ROOT": mounts}
    if host:
        pid = spawn(command, environ, folder, job.default_signals, log=f"{job.pod}/log-{host}")
    else:
        pid = start_runner(command, environ, folder, job.default_signals)
    attempt.pids.append(pid)
    if job.memory_bytes or job.cpu_time_s:
        from kinetic_local.limits import limit

        limit(pid, memory_bytes=job.memory_bytes, cpu_time_s=job.cpu_time_s)
