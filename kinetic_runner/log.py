"""Log lines: short, on stderr, each on its own."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, TextIO

from kinetic_core.wire.names import ENV_LOG_LEVEL

_LEVELS_WITH_STAGES: Final = frozenset(("DEBUG", "INFO"))


def asks_for_stages(environ: Mapping[str, str]) -> bool:
    """Tell whether the pod's log level asks for more than warnings and failures.

    >>> asks_for_stages({"KINETIC_LOG_LEVEL": "info"}), asks_for_stages({})
    (True, False)
    """
    return environ.get(ENV_LOG_LEVEL, "").strip().upper() in _LEVELS_WITH_STAGES


class Log:
    """Writes `kinetic: …` lines to the stderr that the runner started with, whatever the function does to `sys`.

    >>> import sys
    >>> Log(sys.stdout).say("failed in phase 'execute'")
    kinetic: failed in phase 'execute'
    """

    def __init__(self, stream: TextIO | None = None, *, stages: bool = False) -> None:
        """Keep the stream; by default the present `sys.stderr`.

        Args:
            stream: To write to.
            stages: Whether to tell of stages at all: the log is the function's first of all.
        """
        self._stream = stream or sys.stderr
        self._stages = stages

    def stage(self, message: str) -> None:
        """Record that a stage was reached, where that was asked for."""
        if self._stages:
            self.say(message)

    def say(self, message: str) -> None:
        """Record something that the log is worse without."""
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
