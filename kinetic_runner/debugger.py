"""The debugger of a job: it listens on the pod itself, and the job waits for somebody to attach."""

import importlib
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from kinetic_core.wire.names import DEBUG_WAIT_S, ENV_DEBUG, ENV_DEBUG_WAIT
from kinetic_runner.image import image_path
from kinetic_runner.job import Job
from kinetic_runner.log import Log

_PAUSE_S: Final = 0.1


def is_wanted(environ: Mapping[str, str], host_index: int) -> bool:
    """Tell whether this host waits for a debugger; of several, the first does, and the others meet it later.

    >>> is_wanted({"KINETIC_DEBUG": "127.0.0.1:5678"}, 0), is_wanted({"KINETIC_DEBUG": "127.0.0.1:5678"}, 1)
    (True, False)
    """
    return bool(environ.get(ENV_DEBUG)) and host_index == 0


def set_up(job: Job) -> None:
    """Let a debugger listen, and wait until one has attached and said where to stop, or the time is up.

    Raises:
        RuntimeError: The image has no debugger.
        ValueError: The address says nothing that can be listened on.
    """
    host, port = _address(job.environ[ENV_DEBUG])
    wait_s = _wait_s(job.environ, job.log)
    # Its warning about frozen modules concerns nobody who steps through his own code.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    with image_path():
        try:
            # By its name: an import of it looks as if somebody had forgotten it.
            debugpy: Any = importlib.import_module("debugpy")
        except ImportError as error:
            raise RuntimeError(
                "the job is to be debugged, and debugpy is not in its image; install kinetic-run[debug] there, or in "
                "the image that the runner is brought from"
            ) from error
    debugpy.listen((host, port))
    job.log.say(f"waiting up to {wait_s:g} s for a debugger to attach, at {host}:{port} of this pod")
    over = threading.Event()
    threading.Thread(target=_end_wait, args=(debugpy.wait_for_client, wait_s, over), daemon=True).start()
    debugpy.wait_for_client()
    over.set()
    if debugpy.is_client_connected():
        job.log.say("a debugger has attached")
    else:
        job.log.caution(f"no debugger attached in {wait_s:g} s; the job goes on, and one may attach still")


def _end_wait(waiting: Any, wait_s: float, over: threading.Event) -> None:
    """End the wait for a debugger when its time is up; it cannot be ended before it has begun."""
    pause_s = wait_s
    while not over.wait(pause_s):
        with suppress(RuntimeError):
            waiting.cancel()
        pause_s = _PAUSE_S


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit():
        raise ValueError(f"{ENV_DEBUG}={text!r} is no address to listen on; it is written as 127.0.0.1:5678")
    return host, int(port)


def _wait_s(environ: Mapping[str, str], log: Log) -> float:
    text = environ.get(ENV_DEBUG_WAIT, "").strip()
    if not text:
        return DEBUG_WAIT_S
    if text.isascii() and text.isdigit():
        return float(text)
    log.caution(f"{ENV_DEBUG_WAIT}={text!r} is no number of seconds and is ignored")
    return DEBUG_WAIT_S
