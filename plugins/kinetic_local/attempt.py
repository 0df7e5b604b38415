"""An attempt: a private folder with a runner in it. Imported before anything else is, see `supervisor`."""

import os

from kinetic_local.job import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinetic_local.spawn import StartRunner


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


def start(job: Job, number: int, start_runner: "StartRunner") -> Attempt:
    """Make the private folder of the attempt of that number, and start a runner in it, by `spawn` or as it does."""
    folder = f"{job.folder}-{number}"
    workspace, mounts, temporary = (f"{folder}/{name}" for name in ("workspace", "mounts", "temporary"))
    try:
        for path in (folder, workspace, mounts, temporary):
            os.mkdir(path, 0o700)  # noqa: PTH102 - pathlib would double the time until the runner starts
        environ = job.environ | {"TMPDIR": temporary, "KINETIC_MOUNT_ROOT": mounts}
        pid = start_runner([*job.command, "--workspace", workspace], environ, folder, job.default_signals)
    except OSError as error:
        return Attempt(folder, 0, error)
    return Attempt(folder, pid, None)
