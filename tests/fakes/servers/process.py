"""Starting a real server for tests: on a free port of this machine, its output in a file, ended by its id."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

READY_S = 60


@contextmanager
def reserved_port() -> Iterator[int]:
    """Find a free port, and keep it until the block ends: no connection and nobody else's search is given it.

    A server that says so, as all servers do, may listen at a port that another socket is bound to and does not use.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextmanager
def running(command: Sequence[str], *, port: int, ready: str, folder: Path, **environ: str) -> Iterator[str]:
    """Run the command until the block ends; give its address once it answers at the path `ready`."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=_clean(os.environ) | {"TMPDIR": str(folder)} | environ,
            start_new_session=True,
        )
    try:
        _wait(process, port, ready, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not name.startswith(("KINETIC_", "COV_", "PYTHON"))}


def _wait(process: "subprocess.Popen[bytes]", port: int, ready: str, log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while not _answers(port, ready):
        if process.poll() is not None or time.monotonic() > deadline:
            said = log.read_text(errors="replace")[-2000:]
            sys.exit(f"{process.args!r} does not answer (exit code {process.poll()}): {said}")
        time.sleep(0.02)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    else:
        return True
    finally:
        connection.close()
