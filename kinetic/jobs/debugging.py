"""Debugging a job: a port here that leads to the debugger which waits in it."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from typing import Any, Final, Self

from kinetic.log import get_logger
from kinetic_core.errors import ConfigError, KineticError
from kinetic_core.plugin import DebugConnection

PORT: Final = 5678
"""What debuggers that attach propose by themselves."""
_HOST: Final = "127.0.0.1"
_PAUSE_S: Final = 0.5
_LAST_PORT: Final = 65535
_PIECE: Final = 1 << 16


class DebugSession:
    """A port of this machine that leads to the debugger of a job, until it is closed.

    It is open at once. Whoever connects before the job has come so far waits for it.
    """

    def __init__(self, job_id: str, launch: Callable[[int], dict[str, Any]], connect: Callable[[], Any]) -> None:
        """Use `JobHandle.debug_attach` rather than this.

        Args:
            job_id: Of the job.
            launch: Makes the entry for an editor, for a port.
            connect: Returns a `DebugConnection`, or `None` where nobody listens yet.
        """
        self._job_id = job_id
        self._launch = launch
        self._connect: Callable[[], DebugConnection | None] = connect
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._ends: list[Any] = []
        self._server: socket.socket | None = None
        self.port = 0
        """Of this machine, on the loopback only."""

    @property
    def launch(self) -> dict[str, Any]:
        """The entry for the `configurations` of a `launch.json`."""
        return self._launch(self.port)

    def open(self, port: int) -> Self:
        """Listen; 0 takes any free port.

        Raises:
            ConfigError: The port is taken, or is none.
        """
        try:
            self._server = socket.create_server((_HOST, _checked(port)))
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"the port {port} of this machine cannot be used ({error}); name another with local_port= or --port,"
                " 0 for any that is free"
            ) from error
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._server,), daemon=True).start()
        return self

    def close(self) -> None:
        """Close the port and every connection; the job goes on."""
        self._closed.set()
        with self._lock:
            ends, self._ends = self._ends, []
            server, self._server = self._server, None
        if server is not None:
            _shut(server)
        for end in ends:
            _shut(end) if isinstance(end, socket.socket) else end.close()

    def _accept(self, server: socket.socket) -> None:
        while not self._closed.is_set():
            try:
                here, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(here,), daemon=True).start()

    def _serve(self, here: socket.socket) -> None:
        """Carry the bytes of one connection."""
        there = None
        try:
            self._keep(here)
            there = self._reached(here)
            if there is not None:
                self._keep(there)
                threading.Thread(target=_carry_there, args=(here, there), daemon=True).start()
                while data := there.receive():
                    here.sendall(data)
        except (KineticError, OSError) as error:
            if not self._closed.is_set():
                get_logger("kinetic.debug").warning("debugger_lost", job_id=self._job_id, error=str(error))
        finally:
            _shut(here)
            if there is not None:
                there.close()
            with self._lock:
                self._ends = [end for end in self._ends if end is not here and end is not there]

    def _reached(self, here: socket.socket) -> DebugConnection | None:
        """Wait for the debugger; `None` where nobody waits for it here any more."""
        while not self._closed.is_set() and _is_open(here):
            there = self._connect()
            if there is not None:
                return there
            self._closed.wait(_PAUSE_S)
        return None

    def _keep(self, end: Any) -> None:
        """Have it closed with the rest.

        Raises:
            OSError: That has happened already.
        """
        with self._lock:
            if self._closed.is_set():
                raise ConnectionAbortedError("the port was closed")
            self._ends.append(end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return json.dumps(self.launch, indent=2)

    def __repr__(self) -> str:
        return f"<kinetic.DebugSession {self._job_id} at {_HOST}:{self.port}>"


def launch_entry(*, name: str, root: str, workspace: str, port: int) -> dict[str, Any]:
    """Return the entry of a `launch.json` by which an editor attaches.

    Args:
        name: For a person.
        root: The package root on this machine.
        workspace: The same on the pod.
        port: Of this machine.
    """
    return {
        "name": name,
        "type": "debugpy",
        "request": "attach",
        "connect": {"host": _HOST, "port": port},
        "pathMappings": [{"localRoot": root, "remoteRoot": workspace}],
    }


def _checked(port: int) -> int:
    if not 0 <= port <= _LAST_PORT:
        raise ValueError(f"ports go from 0 to {_LAST_PORT}")
    return port


def _carry_there(here: socket.socket, there: DebugConnection) -> None:
    with contextlib.suppress(OSError):
        while data := here.recv(_PIECE):
            there.send(data)
    there.close()


def _is_open(end: socket.socket) -> bool:
    """Tell whether the other side has not hung up; nothing is taken."""
    try:
        end.setblocking(False)  # noqa: FBT003 - the standard library has it so
        return bool(end.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            end.setblocking(True)  # noqa: FBT003 - the same


def _shut(end: socket.socket) -> None:
    # Closing alone would not wake who waits for it.
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
