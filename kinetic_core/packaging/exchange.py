"""This end of the pipes to the second process: questions go out and answers come in, and nobody waits for either."""

import contextlib
import fcntl
import marshal
import os
import select
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from kinetic_core.model.brokenpipe import broken_pipe_is_an_error
from kinetic_core.packaging.packserver import LENGTH_BYTES, length_of, message

_AHEAD: Final = 3
"""Questions that the process has, so that it need not wait for the next one."""
_PIPE_BYTES: Final = 1 << 20
"""Room for what the process answers while the client is busy."""


class Exchange:
    """What is asked of the process and what it answers, as far as it is under way."""

    def __init__(self, asking: int, answers: int) -> None:
        """Exchange nothing yet.

        Args:
            asking: Descriptor of the pipe that the process reads from.
            answers: Of the one that it writes to. Who started the process closes both.
        """
        self._asking, self._answers = asking, answers
        for pipe in (asking, answers):
            os.set_blocking(pipe, False)
            with contextlib.suppress(OSError, AttributeError):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._away: deque[Callable[[Any], None]] = deque()
        """Who takes which answer, in their order."""
        self._unsent = b""
        self._received = bytearray()
        self._answers_still = True

    @property
    def is_busy(self) -> bool:
        """Tell whether there is something that the process has not answered."""
        return self._answers_still and bool(self._away)

    @property
    def has_room(self) -> bool:
        """Tell whether the process has not enough to do."""
        return self._answers_still and len(self._away) < _AHEAD

    def tell(self, value: Any) -> None:
        """Send what is not answered."""
        self._unsent += message(value)
        self._write()

    def ask(self, value: Any, take: Callable[[Any], None]) -> None:
        """Send a question.

        Args:
            value: Plain.
            take: Gets the answer, when somebody looks; what it raises is the end of the exchange.
        """
        self._away.append(take)
        self.tell(value)

    def look(self, patience_ms: int = 0) -> bool:
        """Take what was answered; tell whether there was something, which the process's end is too.

        Args:
            patience_ms: How long to wait for an answer.
        """
        if not self._answers_still:
            return False
        if patience_ms:
            ready = select.poll()
            ready.register(self._answers, select.POLLIN)
            ready.poll(patience_ms)
        self._write()
        return self._read()

    def _write(self) -> None:
        if not self._unsent:
            return
        with contextlib.suppress(OSError), broken_pipe_is_an_error():  # full, or gone, which reading tells
            while self._unsent:
                self._unsent = self._unsent[os.write(self._asking, self._unsent) :]

    def _read(self) -> bool:
        count = len(self._away)
        try:
            while data := os.read(self._answers, _PIPE_BYTES):
                self._received += data
                self._take_answers()
            self._answers_still = False
        except BlockingIOError:
            pass
        except Exception:  # noqa: BLE001 - a program that is no interpreter may say anything
            self._answers_still = False
        return len(self._away) < count or not self._answers_still

    def _take_answers(self) -> None:
        while len(self._received) >= LENGTH_BYTES:
            stop = LENGTH_BYTES + length_of(self._received)
            if len(self._received) < stop:
                return
            answer: Any = marshal.loads(memoryview(self._received)[LENGTH_BYTES:stop])  # noqa: S302 - by the same code
            del self._received[:stop]
            self._away.popleft()(answer)
