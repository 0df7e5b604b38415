"""A second process for work that keeps the interpreter's lock: many small things, where threads would only wait."""

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def beside(call: Callable[[], None]) -> Iterator[None]:
    """Make the call in a fork of this process while the body runs; both have ended when this returns.

    Args:
        call: What it does to files stays, what it does to this process's objects is lost.

    Raises:
        Exception: What the call raised, where the body raised nothing.
        ChildProcessError: The fork was killed.
    """
    reading, writing = os.pipe()
    pid = os.fork() or os._exit(answer(call, writing))
    os.close(writing)
    try:
        yield
    finally:
        with os.fdopen(reading, "rb") as stream:
            said = stream.read()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if said:
        raise pickle.loads(said)
    if status:
        raise ChildProcessError(f"the second process that unpacks the context ended with {status}")


def answer(call: Callable[[], None], writing: int) -> int:
    """Make the call and return an exit code; what it raises goes into the pipe.

    >>> answer(lambda: None, -1)
    0
    """
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - raised again in the process that waits for it
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(error, stream)
        return 1
    return 0
