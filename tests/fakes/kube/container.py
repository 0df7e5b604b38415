"""A container: one real process with its own process group, and what it wrote."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import IO

from tests.fakes.kube.environment import Start
from tests.fakes.kube.log_file import LogFile
from tests.fakes.kube.objects import Obj, new_uid, now

LONGEST_MESSAGE = 2048
STARTED = threading.BoundedSemaphore(4)


class Container:
    """Runs once. A process that installs no handler ignores SIGTERM, as process 1 of a container does.

    The server itself ignores SIGTERM, and what it starts inherits that; see `__main__`.
    """

    def __init__(self, spec: Obj, log: LogFile) -> None:
        self.spec = spec
        self.log = log
        self.id = f"containerd://{new_uid().replace('-', '')}{new_uid().replace('-', '')}"
        self.started_at = ""
        self.ended: Obj | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reason: str | None = None
        self._reaping = threading.Lock()
        self._over = threading.Event()

    @property
    def runs(self) -> bool:
        """Tell whether the process is there."""
        return bool(self.started_at) and self.ended is None

    def is_over(self) -> bool:
        """Tell whether the process ran and ended."""
        return self.ended is not None

    def start(self, start: Start, changed: Callable[[], None]) -> None:
        """Start the process; `changed` is called when it ended."""
        self.started_at = now()
        try:
            with STARTED:
                self._process = subprocess.Popen(
                    start.command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    env=start.env,
                    cwd=start.folder,
                    start_new_session=True,
                )
        except (OSError, IndexError) as error:
            self._not_started(start, error)
            changed()
            return
        pipe = self._process.stdout
        assert pipe is not None
        threading.Thread(target=self._follow, args=(self._process, pipe, changed), daemon=True).start()

    def _not_started(self, start: Start, error: Exception) -> None:
        program = start.command[0] if start.command else ""
        why = (
            f'exec: "{program}": executable file not found in $PATH'
            if isinstance(error, OSError)
            else "no command specified"
        )
        self._end(128, "StartError", f"failed to create containerd task: failed to create shim task: {why}: unknown")

    def _follow(self, process: "subprocess.Popen[bytes]", pipe: IO[bytes], changed: Callable[[], None]) -> None:
        reader = threading.Thread(target=self._drain, args=(pipe,), daemon=True)
        reader.start()
        # Not reaped yet, so that no other process can have its id: whatever it left running shares its end.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._reaping:
            _signal(process.pid, signal.SIGKILL)
            code = process.wait()
            self._process = None
        reader.join(5)
        status = 128 - code if code < 0 else code
        reason = self._reason or ("Completed" if status == 0 else "Error")
        wants_log = status != 0 and self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        self._end(status, reason, self.log.last(LONGEST_MESSAGE) if wants_log else "")
        changed()

    def _drain(self, pipe: IO[bytes]) -> None:
        with pipe:
            while data := os.read(pipe.fileno(), 65536):
                self.log.write(data)

    def _end(self, code: int, reason: str, message: str) -> None:
        self.log.close()
        ended: Obj = {"exitCode": code, "reason": reason}
        if message:
            ended["message"] = message
        self.ended = {**ended, "startedAt": self.started_at, "finishedAt": now(), "containerID": self.id}
        self._over.set()

    def kill(self, reason: str | None = None) -> None:
        """End the process at once; a reason given is what the status shows."""
        self._reason = reason or self._reason
        self._send(signal.SIGKILL)

    def stop(self, grace_s: float) -> None:
        """Ask the process to end, and end it when the grace period is over; where there is none, nobody asks."""
        if grace_s > 0:
            self._send(signal.SIGTERM)
            self._over.wait(grace_s)
        self._send(signal.SIGKILL)
        if self.started_at:
            self._over.wait(60)

    def _send(self, number: int) -> None:
        with self._reaping:
            if self._process is not None:
                _signal(self._process.pid, number)


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
