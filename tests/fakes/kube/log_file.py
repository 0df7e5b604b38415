"""A container's log: lines with the time at which each came, in files that rotate."""

import datetime as dt
import threading
import time

import attrs


@attrs.frozen
class Line:
    """What was written up to and with a line's end; the last one may lack it."""

    at: float
    text: bytes

    def shown(self, *, timestamps: bool) -> bytes:
        """Return it as the log endpoint sends it."""
        if not timestamps:
            return self.text
        moment = dt.datetime.fromtimestamp(self.at, dt.UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z ").encode() + self.text


class LogFile:
    """Appended to by the container's pipe, read by any number of followers."""

    def __init__(self, rotate_every: int = 1_000_000) -> None:
        self._lines: list[Line] = []
        self._rest = b""
        self._current = 0
        self._rotate_every = rotate_every
        self._grown = threading.Condition()
        self.is_closed = False

    def write(self, data: bytes) -> None:
        """Take what the container wrote."""
        with self._grown:
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._lines += [Line(time.time(), text + b"\n") for text in whole]
            while len(self._lines) - self._current > self._rotate_every:
                self._current += self._rotate_every
            self._grown.notify_all()

    def close(self) -> None:
        """Take note that nothing more comes; an unfinished line is kept as it is."""
        with self._grown:
            if self._rest:
                self._lines.append(Line(time.time(), self._rest))
                self._rest = b""
            self.is_closed = True
            self._grown.notify_all()

    def rotate(self) -> None:
        """Begin a new file: who asks for the log from now on sees nothing of before."""
        with self._grown:
            self._current = len(self._lines)
            self._grown.notify_all()

    def last(self, size: int) -> str:
        """Return the last so many bytes."""
        with self._grown:
            text = b"".join(line.text for line in self._lines[-80:]) + self._rest
        return text[-size:].decode(errors="replace")

    def start(self, *, tail: int | None, since: float | None) -> int:
        """Return the position of the first line that a reader wants."""
        with self._grown:
            first = self._current
            if since is not None:
                first = next(
                    (i for i in range(first, len(self._lines)) if self._lines[i].at >= since), len(self._lines)
                )
            return first if tail is None else max(first, len(self._lines) - tail)

    def after(self, position: int, wait_s: float) -> list[Line]:
        """Return the lines from the position on; wait for the first at most so long."""
        with self._grown:
            if len(self._lines) <= position and not self.is_closed:
                self._grown.wait(wait_s)
            return self._lines[position:]
