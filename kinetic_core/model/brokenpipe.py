"""Pipes and sockets to a process that may be gone: an error alone tells of it, whatever the application thinks."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_BROKEN: Final = frozenset({signal.SIGPIPE})


@contextmanager
def broken_pipe_is_an_error() -> Iterator[None]:
    """Hold back the signal that a write sends where nobody reads: an application may let itself be ended by it.

    Many do, so that `program | head` ends quietly; the processes beside it are no business of theirs.

    >>> import os
    >>> reading, writing = os.pipe()
    >>> os.close(reading)
    >>> with broken_pipe_is_an_error():
    ...     os.write(writing, b"x")
    Traceback (most recent call last):
        ...
    BrokenPipeError: [Errno 32] Broken pipe
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _BROKEN)
    try:
        yield
    finally:
        # It was sent to this very thread. What had been held back before is not ours to take.
        if signal.SIGPIPE not in before and signal.SIGPIPE in signal.sigpending():
            signal.sigwait(_BROKEN)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
