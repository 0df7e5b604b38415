"""The interpreter beside the client's: started, perhaps ahead, and ended, whatever happens."""

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kinetic_core.packaging.deflate import LIBRARIES
from kinetic_core.packaging.exchange import Exchange

if TYPE_CHECKING:
    import subprocess

WORTH_A_PROCESS_FILES: Final = 400
"""With fewer to pack, it would hardly be ready before the end."""
WORTH_A_PROCESS_LOOKS: Final = 8_000
"""The same, of names to look at."""
_IMPORTS: Final = ("kinetic_core", *(library.module for library in LIBRARIES))
# Isolated, and without what the site adds: it starts in a moment, and nothing of the project's is ever imported.
_BOOT: Final = """\
import sys
sys.path += sys.argv[1:]
from kinetic_core.packaging.packserver import serve
serve(0, 1)
"""


class SecondProcess:
    """A process that does what it is asked; not started before somebody says so.

    >>> process = SecondProcess("")
    >>> process.start()
    >>> process.running is None
    True
    """

    def __init__(self, python: str) -> None:
        """Start nothing yet.

        Args:
            python: The interpreter; empty for none.
        """
        self._python = python
        self.running: subprocess.Popen[bytes] | None = None
        self._exchange: Exchange | None = None

    def start(self) -> Exchange | None:
        """Start it, unless it runs; this returns before it is ready.

        Returns:
            The way to ask it; nothing where it cannot be started.
        """
        if not self._python or self.running is not None:
            return self._exchange
        import subprocess  # few trees are so large

        # There may be no such program, or its name is none.
        with contextlib.suppress(OSError, ValueError):
            self.running = subprocess.Popen(
                [self._python, "-I", "-S", "-X", f"utf8={sys.flags.utf8_mode}", "-c", _BOOT, *_folders()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                # Who interrupts the client ends this by that.
                start_new_session=True,
            )
            pipes = self.running.stdin, self.running.stdout
            self._exchange = Exchange(*(pipe.fileno() for pipe in pipes if pipe is not None))
        return self._exchange

    def dismiss(self) -> None:
        """Have it end beside whatever comes next, if it runs; what it has not told is lost."""
        # Once somebody has waited for it, its number may be another's.
        if self.running is None or self.running.returncode is not None:
            return
        # It only reads: there is nothing that it could leave half done.
        # All of its group: what was started may be a script that starts the interpreter.
        with contextlib.suppress(OSError):
            os.killpg(self.running.pid, signal.SIGKILL)

    def end(self) -> None:
        """End it, if it runs."""
        self.dismiss()
        process, self.running, self._exchange = self.running, None, None
        if process is not None:
            with process:
                pass


def own_interpreter() -> str:
    """Return the path of this interpreter; nothing where what runs is a program of another name.

    >>> own_interpreter() == sys.executable
    True
    """
    return "" if getattr(sys, "frozen", False) else sys.executable or ""


def _folders() -> list[str]:
    """Return the folders that hold what the process imports beside the standard library."""
    loaded = (sys.modules.get(name.partition(".")[0]) for name in _IMPORTS)
    files = (getattr(module, "__file__", None) for module in loaded)
    folders = {str(Path(file).parents[1]): None for file in files if file and Path(file).stem == "__init__"}
    return list(folders)
