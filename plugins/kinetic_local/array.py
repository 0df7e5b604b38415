"""Arrays: one keeper process holds the jobs of a batch that wait, and starts each when there is room.

A waiting job has a file in its pod's folder that names the array's own file, which the keeper keeps locked while it
lives. When the keeper dies, its jobs were never started, and whoever asks is told so.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs
import pluggy

import kinetic_core
from kinetic_core.errors import SubmissionError
from kinetic_core.model.brokenpipe import broken_pipe_is_an_error
from kinetic_core.model.job import JobRef, JobSpec
from kinetic_local.descriptors import clear_of_streams
from kinetic_local.locks import is_locked, try_lock
from kinetic_local.places import Places
from kinetic_local.pod import QUEUED, append_event, is_known, open_events

# As a supervisor's, see `launch`: no child of the client's, of no session of its.
_BOOT: Final = """\
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
sys.path += sys.argv[2:]
from kinetic_local.keeper import keep
keep(int(sys.argv[1]))
"""


@attrs.frozen(kw_only=True)
class Array:
    """What a keeper is told, through a pipe: secrets stand in it."""

    specs: Sequence[JobSpec] = attrs.field(repr=False)
    environ: Mapping[str, str] = attrs.field(repr=False)
    storage_options: Mapping[str, Mapping[str, Any]] = attrs.field(repr=False)
    home: Path
    most: int
    """Jobs that may have been started and not ended."""


def enqueue(
    specs: Sequence[JobSpec],
    *,
    environ: Mapping[str, str],
    storage_options: Mapping[str, Mapping[str, Any]],
    places: Places,
    most: int,
) -> None:
    """Let a keeper start the jobs, one after the other.

    Args:
        specs: The jobs; their pods' folders exist.
        environ: The client's environment.
        storage_options: What the jobs' stores are told, by URL scheme.
        places: Of this user.
        most: How many of them may have been started and not ended.

    Raises:
        SubmissionError: The keeper could not be started; none of the jobs will be.
    """
    import pickle  # a single job needs none of it

    file = places.arrays / f"array-{os.urandom(8).hex()}"
    lock = try_lock(str(file))
    if lock is None:
        raise SubmissionError(f"the local backend cannot lock {file}, which it has just made")
    try:
        refs = [places.reference(spec) for spec in specs]
        os.pwrite(lock, json.dumps([ref.to_json() for ref in refs]).encode(), 0)
        for spec in specs:
            _mark(places.pod(spec.job_id, spec.job_url), str(file))
        told = [attrs.evolve(spec, options=attrs.evolve(spec.options, volumes={})) for spec in specs]
        array = Array(specs=told, environ=dict(environ), storage_options=storage_options, home=places.home, most=most)
        _hand_over(pickle.dumps(array), lock)
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    finally:
        os.close(lock)


def belonged(pod: str) -> bool:
    """Tell whether an array was to start the job of this pod, living or not."""
    return Path(pod, QUEUED).exists()


def waits(pod: str) -> bool:
    """Tell whether a living keeper will start the job of this pod."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return is_locked(Path(pod, QUEUED).read_text())
    return False


def waiting_jobs(places: Places) -> list[JobRef]:
    """Return the jobs that keepers of this user have not started yet; the files of dead keepers go."""
    found: list[JobRef] = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for file in sorted(places.arrays.iterdir()):
            if not is_locked(str(file)):
                file.unlink(missing_ok=True)
                continue
            with suppress(ValueError, FileNotFoundError):
                refs = [JobRef.from_json(raw) for raw in json.loads(file.read_bytes())]
                found += [ref for ref in refs if not is_known(str(places.pod(ref.job_id, ref.details["job_url"])))]
    return found


def end_unstarted(pod: Path, live: Path, status: str, reason: str) -> None:
    """Write the end of a job that never had a supervisor."""
    with suppress(FileNotFoundError):
        events = open_events(str(pod))
        append_event(events, "job_ended", status, reason, pid=0, mark="", live=str(live), folder="", ticket="")
        os.close(events)


def _mark(pod: Path, file: str) -> None:
    """Note in the pod's folder which array holds its job; whole or not at all."""
    part = pod / f".{QUEUED}-{os.urandom(4).hex()}"
    part.write_text(file)
    part.rename(pod / QUEUED)


def _hand_over(data: bytes, lock: int) -> None:
    import subprocess  # a single job needs none of it

    lock = clear_of_streams(os.dup(lock))
    try:
        with (
            subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BOOT, str(lock), *_paths()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                pass_fds=(lock,),
                start_new_session=True,
            ) as process,
            broken_pipe_is_an_error(),
        ):
            process.communicate(data)
    except OSError as error:
        raise SubmissionError(f"the local backend cannot start {sys.executable}: {error.strerror}") from error
    finally:
        os.close(lock)
    if process.returncode:
        raise SubmissionError(f"the local backend's array did not start: exit code {process.returncode}")


def _paths() -> list[str]:
    """Return where the keeper finds what it imports."""
    files = (__file__, kinetic_core.__file__, attrs.__file__, pluggy.__file__)
    return list(dict.fromkeys(str(Path(file).parents[1]) for file in files))
