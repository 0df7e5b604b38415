"""What a job that failed said last: of each host that failed by itself, asked for at once, and never a wall of it."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

import attrs

from kinetic_core.errors import KineticError
from kinetic_core.model.job import JobRef, JobState
from kinetic_core.plugin import Backend, MultiHostBackend

LOG_LINES: Final = 30
"""Of each pod: one for each host, and of that one for each attempt."""
_MOST_LINES: Final = 300
"""Of all pods together: what somebody reads, and what every failed host of a large slice would bury."""
_WAIT_S: Final = 20.0


def last_words(ref: JobRef, state: JobState, backend: Backend, *, wait_s: float = _WAIT_S) -> str:
    """Return the last lines of what failed, of several hosts each line behind its own; empty where there are none.

    Args:
        ref: The job.
        state: How it ended.
        backend: Where it ran.
        wait_s: How long all logs together may take to come.
    """
    if state.failed_host is None:
        return _texts({"": lambda: backend.logs(ref, tail=LOG_LINES)}, wait_s)
    of_hosts = cast("MultiHostBackend", backend)

    def log_of(host: int) -> Callable[[], Iterator[str]]:
        return lambda: of_hosts.host_logs(ref, host=host, tail=LOG_LINES)

    hosts = (state.failed_host, *state.also_failed)
    if len(hosts) == 1:
        return _texts({"": log_of(hosts[0])}, wait_s)
    shown, hidden = hosts[: _MOST_LINES // LOG_LINES], hosts[_MOST_LINES // LOG_LINES :]
    text = _texts({f"[host {host}] ": log_of(host) for host in shown}, wait_s)
    if hidden:
        text += f"{len(hidden)} more hosts failed, of which logs(host={hidden[0]}) and so on show what they said\n"
    return text


@attrs.define(eq=False, repr=False)
class _Log:
    """The end of one log, as far as it has come."""

    most_lines: int
    lines: deque[str] = attrs.field(factory=deque)
    left_out: int = 0
    problem: str = ""
    is_whole: bool = False
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    def read(self, opened: Callable[[], Iterator[str]]) -> None:
        """Take all of it; runs in a thread of its own."""
        begun = ""
        try:
            for piece in opened():
                *lines, begun = (begun + piece).split("\n")
                self._take(lines)
        except KineticError as error:
            self.problem = str(error)
        except Exception as error:  # noqa: BLE001 - a plugin's: how the job ended matters more
            self.problem = f"{type(error).__name__}: {error}"
        self._take([begun] if begun else [])
        self.is_whole = True

    def _take(self, lines: list[str]) -> None:
        with self._lock:
            self.lines.extend(lines)
            while len(self.lines) > self.most_lines:
                self.lines.popleft()
                self.left_out += 1

    def told(self, mark: str, wait_s: float) -> str:
        """Return it as text, with what is missing of it."""
        with self._lock:
            lines = list(self.lines)
        if self.left_out:
            lines.insert(0, f"({self.left_out} lines before are left out)")
        if self.problem:
            lines.append(f"(its log cannot be read: {self.problem})")
        elif not self.is_whole:
            lines.append(f"(the rest of its log did not come in {wait_s:g} s)")
        elif not lines and mark:
            lines.append("(there is no log of it)")
        return "".join(f"{mark}{line}\n" for line in lines)


def _texts(logs: Mapping[str, Callable[[], Iterator[str]]], wait_s: float) -> str:
    """Return the logs one after the other, read side by side.

    Args:
        logs: By what stands before each line; each is opened in its own thread.
        wait_s: How long they may take together.
    """
    found = {mark: _Log(most_lines=_MOST_LINES // len(logs)) for mark in logs}
    # Daemon: a log that never comes keeps nobody from leaving.
    threads = [threading.Thread(target=found[mark].read, args=(log,), daemon=True) for mark, log in logs.items()]
    for thread in threads:
        thread.start()
    deadline_s = time.monotonic() + wait_s
    for thread in threads:
        thread.join(max(0.0, deadline_s - time.monotonic()))
    return "".join(log.told(mark, wait_s) for mark, log in found.items())
