"""The keeper of an array: it starts the jobs that wait, each when there is room, and ends with the last."""

import os
import pickle
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from kinetic_core.model.job import JobSpec
from kinetic_core.plugin import DriverContext
from kinetic_local.array import Array, end_unstarted
from kinetic_local.backend import LocalBackend
from kinetic_local.locks import is_locked
from kinetic_local.places import Places

_FIRST_POLL_S: Final = 0.005
_LAST_POLL_S: Final = 0.1


def keep(lock: int) -> None:
    """Start the jobs of the array on standard input, each when there is room; the keeper's whole life.

    Args:
        lock: The descriptor that holds the lock of the array's file.
    """
    os.set_inheritable(lock, False)  # noqa: FBT003 - the standard library's own spelling
    try:
        array: Array = pickle.loads(sys.stdin.buffer.read())
    except (EOFError, pickle.UnpicklingError):
        return  # the client died before it had told all
    context = DriverContext(
        log=_Silent(), environ=array.environ, home=array.home, storage_options=array.storage_options
    )
    backend = LocalBackend(context)
    places = Places(home=array.home)
    running: list[str] = []
    for spec in array.specs:
        pause_s = _FIRST_POLL_S
        while len(running) >= array.most:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LAST_POLL_S)
            running = [live for live in running if is_locked(live)]
        _start(backend, places, spec)
        running.append(str(places.live_file(spec.job_id)))
    file = f"/proc/self/fd/{lock}"
    with suppress(OSError):
        Path(file).readlink().unlink(missing_ok=True)


def _start(backend: LocalBackend, places: Places, spec: JobSpec) -> None:
    pod = places.pod(spec.job_id, spec.job_url)
    try:
        if pod.is_dir():
            backend.submit(spec)
    except Exception as error:  # noqa: BLE001 - whatever it is, the job must end with a reason, and the others go on
        end_unstarted(pod, places.live_file(spec.job_id), "FAILED", f"it could not be started: {error}")


class _Silent:
    """A keeper has nobody to tell."""

    def debug(self, event: str, **details: object) -> None:
        """Say nothing."""

    def info(self, event: str, **details: object) -> None:
        """Say nothing."""

    def warning(self, event: str, **details: object) -> None:
        """Say nothing."""
