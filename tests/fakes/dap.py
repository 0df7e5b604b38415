"""A debugger's side of the Debug Adapter Protocol, as an editor speaks it; no more of it than tests need."""

import itertools
import json
import socket
from collections.abc import Callable, Mapping
from typing import Any, Self

WAIT_S = 60


class Dap:
    """One connection to a debug adapter."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)
        self._stream = self._socket.makefile("rb")
        self._numbers = itertools.count(1)
        self._unread: list[dict[str, Any]] = []

    def attach(self, launch: Mapping[str, Any], breakpoints: Mapping[str, list[int]]) -> None:
        """Do what an editor does with an entry of its launch.json and its breakpoints, lines by file."""
        self.answer(self.ask("initialize", adapterID="debugpy", pathFormat="path", linesStartAt1=True))
        attaching = self.ask("attach", **launch)
        self.event("initialized")
        for path, lines in breakpoints.items():
            points = [{"line": line} for line in lines]
            self.answer(self.ask("setBreakpoints", source={"path": path}, breakpoints=points))
        self.answer(self.ask("configurationDone"))
        self.answer(attaching)

    def ask(self, command: str, **arguments: Any) -> int:
        """Send a request, and return its number."""
        number = next(self._numbers)
        body = json.dumps({"seq": number, "type": "request", "command": command, "arguments": arguments}).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return number

    def answer(self, number: int) -> Any:
        """Return what a request was answered."""
        found = self._wait(lambda told: told.get("request_seq") == number)
        assert found["success"], found
        return found.get("body")

    def event(self, name: str) -> Any:
        """Return the next event of a name."""
        return self._wait(lambda told: told.get("event") == name).get("body")

    def is_over(self) -> bool:
        """Wait until the other side hangs up."""
        while self._read() is not None:
            pass
        return True

    def _wait(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for told in self._unread:
            if is_wanted(told):
                self._unread.remove(told)
                return told
        while (came := self._read()) is not None:
            if is_wanted(came):
                return came
            self._unread.append(came)
        raise AssertionError(f"hung up after {self._unread}")

    def _read(self) -> dict[str, Any] | None:
        length = 0
        while line := self._stream.readline().strip():
            length = int(line.partition(b":")[2])
        if not length:
            return None
        message: dict[str, Any] = json.loads(self._stream.read(length))
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._socket.close()
