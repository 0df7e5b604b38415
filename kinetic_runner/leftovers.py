"""What a function may leave behind, and the end of the process in spite of it."""

import atexit
import functools
import gc
import os
import sys
import threading
from contextlib import suppress
from typing import Final, NoReturn

from kinetic_runner.log import Log

_OURS: Final = ("cloudpickle", "kinetic_core", "kinetic_runner")
_OF_THE_INTERPRETER: Final = ("builtins", "sys")
"""What these hold, such as the standard streams, ends in an order of its own."""


@functools.cache
def spare_the_end() -> None:
    """Let the kernel take what was imported up to here, when the process ends, as it takes all the rest; once.

    Looking for garbage in it and taking it apart piece by piece is most of a short job's end. What is imported or made
    from now on ends as ever.
    """
    known = [module for name, module in sys.modules.items() if _is_known(name)]
    # The modules too: those that live to the end are emptied of what was put into them later.
    kept: list[object] = [known, *(list(vars(module).values()) for module in known)]
    # A cycle that the collector does not look at is what nothing ever takes apart.
    kept.append(kept)
    gc.freeze()


def _is_known(name: str) -> bool:
    top = name.partition(".")[0]
    return top in _OURS or (top in sys.stdlib_module_names and name not in _OF_THE_INTERPRETER)


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
