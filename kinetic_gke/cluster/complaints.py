"""What the client complains of in the log, and raises no exception for."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ROOT = "root"


class _Listener(logging.Handler):
    """Takes in what this thread says by the root logger; what others say goes where it would have gone."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == _ROOT and record.thread == self._thread:
            self.said.append(" ".join(record.getMessage().split()))
        elif logging.root.handlers == [self] and logging.lastResort is not None:
            logging.lastResort.handle(record)


@contextmanager
def complaints() -> Iterator[list[str]]:
    """Yield a list that fills with the errors that are logged in the block by the root logger, in this thread.

    Nobody's logging is set up by that: with no handler, the standard library would do so at the first such record.
    """
    listener = _Listener()
    logging.root.addHandler(listener)
    try:
        yield listener.said
    finally:
        logging.root.removeHandler(listener)
