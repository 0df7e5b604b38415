"""What a function may leave behind, and the end of the process in spite of it."""

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn

from kinetic_runner.log import Log


def leave(code: int, log: Log) -> NoReturn:
    """End the process; threads and child processes that the function left behind are named, not waited for.

    Raises:
        SystemExit: With nothing left behind, the ordinary end.
    """
    threads = [
        thread for thread in threading.enumerate() if thread is not threading.main_thread() and not thread.daemon
    ]
    children = _children()
    if not threads and not children:
        raise SystemExit(code)
    for thread in threads:
        log.caution(f"thread {thread.name!r} was left running and is not waited for")
    for child in children:
        log.caution(f"child process {child} was left running and is not waited for")
    if not children:
        # What waits for threads is not among these; what waits for child processes is.
        atexit._run_exitfuncs()  # noqa: SLF001 - flushes what libraries keep; there is no public name for it
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _children() -> list[str]:
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:
        return []
    return [f"{child.name} (pid {child.pid})" for child in multiprocessing.active_children() if not child.daemon]
