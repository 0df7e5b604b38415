"""The supervisor's first moments: read the job and start its runner, before anything else is imported.

A bare interpreter starts in a few milliseconds, and `signal`, `json`, `contextlib`, `typing` or `pathlib` take
as long again. So this module and what it imports at first use `os`, `time`, `marshal` and `fcntl` alone; the
rest is loaded while the runner starts.
"""

import os

from kinetic_local.attempt import start
from kinetic_local.job import Job
from kinetic_local.spawn import adopt_orphans, spawn
from kinetic_local.turns import take_slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kinetic_local.spawn import StartRunner


def main() -> None:
    """Read one job from standard input and see it through; without a whole job there is nothing to do."""
    chunks = []
    while chunk := os.read(0, 1 << 16):
        chunks.append(chunk)
    job = Job.from_bytes(b"".join(chunks))
    if job is None:
        return
    see_through(job, spawn)


def see_through(job: Job, start_runner: "StartRunner", before_waiting: "Callable[[], None] | None" = None) -> None:
    """Start the job's runner, at once when there is a free slot, and wait for its end.

    Args:
        job: With its locks.
        start_runner: How.
        before_waiting: Called when there is no free slot, before the wait for one.
    """
    for lock in (job.live_fd, job.ticket_fd):
        os.set_inheritable(lock, False)  # noqa: FBT003 - the standard library's own spelling
    adopt_orphans()
    has_slot = take_slot(job.queue, job.ticket, job.limit) is not None
    has_venv = not job.venv or _hold(job.venv)
    first = start(job, 1, start_runner) if has_slot and has_venv else None
    if first is None and before_waiting is not None:
        before_waiting()

    from kinetic_local.supervision import Supervision

    Supervision(job, start_runner=start_runner).run(first, has_slot=has_slot, has_venv=has_venv)


def _hold(venv: str) -> bool:
    """Keep the job's environment while it runs; `False` where the supervision has to make it first."""
    from kinetic_local.usage import hold

    return hold(venv) is not None
