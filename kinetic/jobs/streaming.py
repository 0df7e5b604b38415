"""Copying a job's log to stdout while something else waits for the job."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Final

from kinetic.log import get_logger

GRACE_S: Final = 5.0
_LINE_S: Final = 0.25
"""How long the next stream waits for the end of a line that another has begun."""


class _Stdout:
    """This process's stdout, on which the logs of several jobs come line by line."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._writer: object | None = None
        """Whose line has not ended yet."""

    def write(self, text: str, writer: object) -> None:
        """Write text; into a line of another's only when that does not end, and then on a line of its own."""
        with self._free:
            if not self._free.wait_for(lambda: self._writer in (None, writer), _LINE_S):
                text = f"\n{text}"
            write_out(text)
            self._writer = None if text.endswith(("\n", "\r")) else writer
            self._free.notify_all()

    def release(self, writer: object) -> None:
        """Expect no more of somebody's line; never waits, as others do while stdout takes nothing."""
        if self._writer is writer:
            self._writer = None


_stdout = _Stdout()
# A fork has none of the threads that may be writing now.
os.register_at_fork(after_in_child=_stdout.__init__)  # type: ignore[misc]  # made anew, in its place


class LogStream:
    """The log of one job on this process's stdout: each character once, however often streaming starts anew."""

    def __init__(self, job_id: str, read: Callable[[], Iterator[str]]) -> None:
        """Stream what `read` yields: the log from its beginning, until the job has ended."""
        self._job_id = job_id
        self._read = read
        self._lock = threading.Lock()
        self._shown = 0
        self._turn = 0
        self._writing = False
        self._thread: threading.Thread | None = None
        self._waits = False
        """Whether there was no thread to be had: what there is to show is shown at the end."""

    def start(self) -> None:
        """Begin, or go on after what was shown already."""
        self._turn += 1
        # A daemon: a log that does not end must not keep the client from leaving.
        thread = threading.Thread(
            target=self._copy, args=(self._turn,), name=f"kinetic-log-{self._job_id}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            # The process has no room for one more, or is about to end.
            self._waits = True
        else:
            self._thread = thread

    def show(self) -> None:
        """Show what was not shown yet, and return when that is done: for a job that has ended."""
        self._turn += 1
        self._copy(self._turn)

    def stop(self) -> None:
        """Show no more; returns at once, also while stdout takes nothing."""
        self._turn += 1
        self._thread, self._waits = None, False
        _stdout.release(self)

    def finish(self) -> None:
        """Show the rest, now that the job has ended: as long as it takes, but not when nothing more comes."""
        if self._waits:
            self.show()
        thread = self._thread
        while thread is not None and thread.is_alive():
            before = self._shown
            thread.join(GRACE_S)
            if thread.is_alive() and self._shown == before and not self._writing:
                self._say_lost("its end did not come")
                break
        self.stop()

    def _copy(self, turn: int) -> None:
        try:
            passed = 0
            for piece in self._read():
                if not self._show(piece, passed, turn):
                    return
                passed += len(piece)
        except Exception as error:  # noqa: BLE001  the log stream never decides a job's outcome
            self._say_lost(type(error).__name__)

    def _show(self, piece: str, passed: int, turn: int) -> bool:
        with self._lock:
            if turn != self._turn:
                return False
            self._writing = True
            try:
                if new := piece[max(0, self._shown - passed) :]:
                    _stdout.write(new, self)
            finally:
                self._writing = False
            self._shown = max(self._shown, passed + len(piece))
        return True

    def _say_lost(self, why: str) -> None:
        get_logger("kinetic.jobs").warning(
            "log_stream_lost", job_id=self._job_id, why=why, remedy="read it with handle.logs()"
        )


def write_out(text: str) -> None:
    """Write to stdout what its encoding takes; other characters become `?`."""
    encoding = getattr(sys.stdout, "encoding", None)
    if encoding:
        text = text.encode(encoding, "replace").decode(encoding)
    sys.stdout.write(text)
    sys.stdout.flush()
