"""Log lines with their times: what makes it possible to go on in the middle, each line once."""

import math
import re
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from kinetic_gke.diagnosis.moment import moment

_STAMPED: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d) ")
_SLACK_S: Final = 60


class LogPosition:
    r"""How far a log was read, whatever stream it came through.

    >>> position = LogPosition()
    >>> first = [b"2026-11-30T02:20:23.1Z a\n2026-11-30T02:20:23.1Z b\n2026-11-30T02:20:23.2Z c"]
    >>> list(position.take(first))
    ['a\n', 'b\n', 'c']
    >>> again = [b"2026-11-30T02:20:23.1Z b\n2026-11-30T02:20:23.2Z cd\n"]
    >>> list(position.take(again))
    ['d\n']
    """

    def __init__(self) -> None:
        """Begin before the first line."""
        self._last = b""
        self._at_last: list[bytes] = []
        self._read_s: float | None = None
        self.lines = 0
        """How many have been read."""

    @property
    def since_s(self) -> int | None:
        """Return how many seconds back from now the log is still needed; `None` for all of it.

        Clocks differ: what comes twice is known by its time.
        """
        if self._read_s is None:
            return None
        told = moment(_day(self._last)).timestamp()
        return max(1, math.ceil(max(time.monotonic() - self._read_s, time.time() - told)) + _SLACK_S)

    def take(self, pieces: Iterable[bytes]) -> Iterator[str]:
        """Yield the text of the lines that are new, as soon as each is whole; the last one may lack its end.

        Args:
            pieces: Of the log with times, torn anywhere.
        """
        passed: list[bytes] = []
        for line in _lines(pieces):
            found = _STAMPED.match(line)
            stamp, text = (_precise(found), line[found.end() :]) if found else (self._last, line)
            if found and stamp < self._last:
                continue
            if stamp != self._last:
                self._last, self._at_last, passed = stamp, [], []
            fresh = self._fresh(text, len(passed)) if found else text
            passed.append(text)
            self._read_s = time.monotonic()
            if fresh:
                self.lines += 1
                yield fresh.decode("utf-8", "replace")

    def _fresh(self, text: bytes, number: int) -> bytes:
        """Return what is new of the line that is the so manyth of its moment."""
        if number >= len(self._at_last):
            self._at_last.append(text)
            return text
        known = self._at_last[number]
        if known.endswith(b"\n") or not text.startswith(known):
            return b""
        self._at_last[number] = text
        return text[len(known) :]


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    for piece in pieces:
        *whole, last = piece.split(b"\n")
        for line in whole:
            yield b"".join([*rest, line, b"\n"])
            rest.clear()
        if last:
            rest.append(last)
    if rest:
        yield b"".join(rest)


def _precise(found: "re.Match[bytes]") -> bytes:
    """Return a time that compares as text: every digit of its fraction is there."""
    return found[1] + (found[2] or b".").ljust(10, b"0") + found[3]


def _day(stamp: bytes) -> datetime | str:
    # Nanoseconds are more than Python reads.
    return (stamp[:19] + stamp[29:]).decode() if stamp else ""
