"""What takes part in a measurement: a process that stays, a process a round, or a command."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, Protocol

import attrs

from benchmarks.drive.machine import Reading, read

OURS: Final = "kinetic-run"
ROOT: Final = Path(__file__).parents[1]
_SERVE: Final = ROOT / "benchmarks" / "drive" / "serve.py"


class ContestantError(Exception):
    """It cannot take part; the message is the reason that its row shows."""


@attrs.frozen(kw_only=True)
class Round:
    """What one round gave."""

    reading: Reading
    facts: Mapping[str, float] = attrs.field(factory=dict)


class Contestant(Protocol):
    """Somebody who does rounds."""

    @property
    def name(self) -> str:
        """What its row is called."""

    def round(self) -> Round:
        """Do one.

        Raises:
            ContestantError: It cannot.
        """

    def close(self) -> None:
        """Let go of processes."""


@attrs.define(kw_only=True)
class Worker:
    """A step in a process of its own, which imports before the clock runs and stays for all rounds."""

    name: str
    module: str
    """In `benchmarks.drive`."""
    step: str
    """The function of that module that makes the step ready."""
    config: Mapping[str, Any] = attrs.field(factory=dict)
    python: Path = attrs.field(factory=lambda: Path(sys.executable))
    fresh: bool = False
    """A new process for each round, ready before the clock starts."""
    detached: bool = False
    """The work is done by processes that are nobody's children, so other processes cannot be told from it."""
    environ: Mapping[str, str] | None = None
    _process: "subprocess.Popen[str] | None" = attrs.field(default=None, init=False)

    def round(self) -> Round:
        """Do one round, starting the process where there is none."""
        if self._process is None:
            self._process = self._start()
        answer = self._ask(self._process, "round\n")
        if self.fresh:
            self.close()
        reading = Reading(*answer["reading"])
        return Round(reading=reading._replace(foreign_s=0.0) if self.detached else reading, facts=answer["facts"])

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _start(self) -> "subprocess.Popen[str]":
        command = [str(self.python), str(_SERVE), self.module, self.step, json.dumps(dict(self.config))]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=None if self.environ is None else dict(self.environ),
        )
        self._process = process
        self._ask(process, "")
        return process

    def _ask(self, process: "subprocess.Popen[str]", question: str) -> dict[str, Any]:
        if process.stdin is None or process.stdout is None:
            raise ContestantError("its process has no pipes")
        try:
            process.stdin.write(question)
            process.stdin.flush()
        except BrokenPipeError as error:
            raise ContestantError("its process ended") from error
        line = process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "its process ended"}
        if "error" in answer:
            self.close()
            raise ContestantError(answer["error"])
        return answer


@attrs.frozen(kw_only=True)
class Command:
    """A command line, or several of them in a pipe."""

    name: str
    pipeline: Sequence[Sequence[str]]
    cwd: Path
    output: Path | None = None
    """Where the last one's stdout goes; removed before each round."""
    before: Callable[[], object] | None = None

    def round(self) -> Round:
        """Run it once."""
        if self.output is not None:
            self.output.unlink(missing_ok=True)
        if self.before is not None:
            self.before()
        reading = read(self._run)
        facts = {"bytes": float(self.output.stat().st_size)} if self.output is not None else {}
        return Round(reading=reading._replace(peak_bytes=0), facts=facts)

    def close(self) -> None:
        """Nothing stays open."""

    def _run(self) -> None:
        running: list[subprocess.Popen[bytes]] = []
        out = subprocess.DEVNULL if self.output is None else self.output.open("wb")
        try:
            for words in self.pipeline:
                running.append(self._start(words, running, out))
        except OSError as error:
            for process in running:
                if process.stdout is not None:
                    process.stdout.close()
            raise ContestantError(f"{error.filename} cannot be started: {error.strerror}") from error
        finally:
            codes = [process.wait() for process in running]
            if not isinstance(out, int):
                out.close()
        for words, code in zip(self.pipeline, codes, strict=True):
            if code:
                raise ContestantError(f"{words[0]} ended with code {code}")

    def _start(
        self, words: Sequence[str], before: Sequence["subprocess.Popen[bytes]"], out: "int | IO[bytes]"
    ) -> "subprocess.Popen[bytes]":
        source = before[-1].stdout if before else None
        sink = subprocess.PIPE if len(before) + 1 < len(self.pipeline) else out
        process = subprocess.Popen(
            words, cwd=self.cwd, stdin=source or subprocess.DEVNULL, stdout=sink, stderr=subprocess.DEVNULL
        )
        if source is not None:
            # Only the reader holds the pipe, so that its end ends the writer.
            source.close()
        return process
