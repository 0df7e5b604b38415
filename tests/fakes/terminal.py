"""A program at a terminal: its stderr is one, and the test reads what it draws there."""

import os
import pty
import subprocess
import sys
import termios
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import attrs


@attrs.define
class Screen:
    """What a program wrote to its terminal so far, and its other ends."""

    process: "subprocess.Popen[str]"
    _descriptor: int
    _written: bytearray = attrs.field(factory=bytearray)

    @property
    def text(self) -> str:
        return self._written.decode(errors="replace")

    def wait_for(self, text: str) -> None:
        """Read until the program has written a text."""
        while text not in self.text:
            assert self._read(), f"never written: {text!r} in {self.text!r}"

    def go_on(self) -> None:
        """Let a program that waits for a line have one."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> tuple[str, str]:
        """Wait until the program has ended well; return what it wrote to stdout, and to the terminal."""
        while self._read():
            pass
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, self.text
        return out, self.text

    def _read(self) -> bool:
        try:
            piece = os.read(self._descriptor, 65536)
        except OSError:
            return False
        self._written += piece
        return bool(piece)


@contextmanager
def at_a_terminal(code: str, *, cwd: Path, environ: Mapping[str, str]) -> Iterator[Screen]:
    """Run Python code whose stderr is a terminal of 120 columns, with pipes for the rest."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 120))
    base = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_START") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**base, "TERM": "xterm-256color", **environ},
        text=True,
    )
    os.close(theirs)
    try:
        yield Screen(process, ours)
    finally:
        process.kill()
        process.communicate()
        os.close(ours)
