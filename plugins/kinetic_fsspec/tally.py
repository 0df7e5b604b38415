"""How much of a file has moved, told to whoever watches."""

import threading

from kinetic_core.plugin import Progress


class Tally:
    """What was told of one file, so that it can be taken back; threads may add at once.

    >>> told = []
    >>> tally = Tally(told.append)
    >>> tally.add(3), tally.start_over(), tally.add(4)
    (None, None, None)
    >>> told
    [3, -3, 4]
    """

    def __init__(self, progress: Progress | None) -> None:
        """Begin; `None` where nobody watches."""
        self._progress = progress
        self._told = 0
        self._lock = threading.Lock()

    def add(self, size_bytes: int) -> None:
        """Tell of more bytes."""
        if self._progress is None:
            return
        with self._lock:
            self._told += size_bytes
        self._progress(size_bytes)

    def start_over(self) -> None:
        """Take back all that was told."""
        with self._lock:
            told, self._told = self._told, 0
        if told and self._progress is not None:
            self._progress(-told)
