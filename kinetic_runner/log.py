"""Log lines: short, on stderr, each on its own."""

import sys
from contextlib import suppress
from typing import TextIO


class Log:
    """Writes `kinetic: …` lines to the stderr that the runner started with, whatever the function does to `sys`.

    >>> import sys
    >>> Log(sys.stdout).say("context extracted, 12 files")
    kinetic: context extracted, 12 files
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        """Keep the stream; by default the present `sys.stderr`."""
        self._stream = stream or sys.stderr

    def say(self, message: str) -> None:
        """Record a stage."""
        self._write(f"kinetic: {message}")

    def caution(self, message: str) -> None:
        """Record something that the user should act on."""
        self._write(f"kinetic: warning: {message}")

    def text(self, text: str) -> None:
        """Write text of several lines as it is, such as a traceback."""
        self._write(text.rstrip("\n"))

    def _write(self, line: str) -> None:
        # A log that is closed, full or absent must not turn a finished job into a failed one.
        with suppress(OSError, ValueError, AttributeError):
            self._stream.write(f"{line}\n")
            self._stream.flush()
