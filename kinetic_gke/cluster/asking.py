"""Requests that are under way, so that a process can end between them and not within one."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kinetic_gke.cluster.refusal import ClusterError


class Asking:
    """Counts the requests of one client. What works in a daemon thread while the interpreter ends may abort it."""

    def __init__(self) -> None:
        """Begin with none."""
        self._changed = threading.Condition()
        self._count = 0
        self.is_over = False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request.

        Raises:
            ClusterError: None may begin any more.
        """
        with self._changed:
            if self.is_over:
                raise ClusterError("the process ends, and asks its cluster nothing more")
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def end(self, within_s: float) -> None:
        """Let none begin any more; return when none is under way, or the time is up."""
        deadline_s = time.monotonic() + within_s
        with self._changed:
            self.is_over = True
            self._changed.wait_for(lambda: not self._count, max(0.0, deadline_s - time.monotonic()))
