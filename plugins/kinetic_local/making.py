"""Making the virtual environment that a job runs in, in the job's own time and with its log."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from kinetic_core.wire.removal import remove_tree
from kinetic_local.installation import REMOVED
from kinetic_local.job import Job
from kinetic_local.outcome import Outcome
from kinetic_local.pod import LOG
from kinetic_local.spawn import spawn
from kinetic_local.usage import hold, is_ready, open_lock, try_alone
from kinetic_local.venvs import without_credentials

_LINES: Final = 8
_CHARS: Final = 1_000


class Supervisor(Protocol):
    """What sees the making through, as it does a runner."""

    def record(self, kind: str, status: str, reason: str = "") -> None:
        """Append an event."""

    def watch(self, pids: Sequence[int], outcome_of_host: Callable[[int, int], Outcome]) -> Outcome:
        """Wait until all of some groups have ended."""


def make_venv(job: Job, supervisor: Supervisor) -> Outcome | None:
    """Make the environment, or wait until another process has; `None` when the job can run in it.

    It stays held until this process ends.

    Args:
        job: Whose environment.
        supervisor: Watches what makes it.
    """
    if hold(job.venv) is not None:
        return None  # made while the job waited for its turn
    supervisor.record("environment_requested", "PENDING", "making its environment")
    folder = f"{job.folder}-environment"
    os.mkdir(folder, 0o700)  # noqa: PTH102 - as everywhere in the supervisor
    try:
        while True:
            lock = open_lock(job.venv)
            begin = os.path.getsize(f"{job.pod}/{LOG}")  # noqa: PTH202 - as above
            os.set_inheritable(lock, True)  # noqa: FBT003 - the standard library's own spelling
            pid = spawn(
                [*job.venv_command, str(lock)], job.venv_environ | {"TMPDIR": folder}, folder, job.default_signals
            )
            os.set_inheritable(lock, False)  # noqa: FBT003 - as above
            outcome = supervisor.watch([pid], _outcome)
            if outcome.exit_code != REMOVED:
                break
            os.close(lock)
        if outcome.status == "SUCCEEDED":
            return None
        _forget_half(job.venv, lock)
        if outcome.exit_code is not None:
            outcome.reason = f"{outcome.reason}{_last_words(job.pod, begin)}"
        return outcome
    finally:
        remove_tree(Path(folder))


def _outcome(_host: int, status: int) -> Outcome:
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return Outcome("SUCCEEDED", "", 0)
    told = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return Outcome("FAILED", f"its environment could not be made ({told})", code if code > 0 else 128 - code)


def _forget_half(venv: str, lock: int) -> None:
    """Remove what was begun, unless another process makes it or runs in it."""
    if try_alone(lock) and not is_ready(venv) and Path(venv).exists():
        remove_tree(Path(venv))
    os.close(lock)


def _last_words(pod: str, begin: int) -> str:
    with Path(pod, LOG).open("rb") as stream:
        stream.seek(begin)
        said = stream.read().decode(errors="replace")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f": {without_credentials(' '.join(lines[-_LINES:]))[-_CHARS:]}" if lines else ""
