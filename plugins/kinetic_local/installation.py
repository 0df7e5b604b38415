"""Making a virtual environment: a process of its own, so that it can be stopped and shares nothing with the job."""

import fcntl
import os
import random
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Final

from kinetic_core.wire.removal import remove_tree
from kinetic_local.usage import is_current, is_ready, try_alone
from kinetic_local.venvs import describe, tidy_venvs, without_credentials

REMOVED: Final = 75
"""Exit code that says: the lock was another's by the time it was held; open it anew and try again."""
_FILE: Final = "file://"
_PAUSE_S: Final = (0.01, 0.1)


def main(arguments: list[str]) -> None:
    """Make the environment ready, unless another process does; end with 0 when it is, and its lock is held shared.

    Args:
        arguments: Folder of the environment, interpreter, uv's path or nothing, URL and SHA-256 of the requirements
            or nothing twice, and the descriptor of the lock.
    """
    folder, python, uv, url, digest, lock = arguments
    sys.exit(_make_ready(Path(folder), int(lock), python=python, uv=uv, url=url, digest=digest))


def _make_ready(folder: Path, lock: int, *, python: str, uv: str, url: str, digest: str) -> int:
    while True:
        # Waits while another process makes it.
        fcntl.flock(lock, fcntl.LOCK_SH)
        if not is_current(f"{folder}.lock", lock):
            return REMOVED
        if is_ready(str(folder)):
            return 0
        if not try_alone(lock):
            time.sleep(random.uniform(*_PAUSE_S))  # noqa: S311 - so that two do not stay in step
            continue
        if is_current(f"{folder}.lock", lock) and not is_ready(str(folder)):
            code = _make(folder, python=python, uv=uv, requirements=_read(url, digest) if url else b"")
            if code:
                return 1
            tidy_venvs(folder.parent)


def _make(folder: Path, *, python: str, uv: str, requirements: bytes) -> int:
    """Make the environment; return the installer's exit code."""
    if folder.exists():
        remove_tree(folder)
    file = Path("requirements.txt")
    file.write_bytes(requirements)
    inside = f"{folder}/bin/python"
    if uv:
        commands = [
            [uv, "venv", "--quiet", "--no-project", "--python", python, os.fspath(folder)],
            [uv, "pip", "install", "--python", inside, "--requirement", os.fspath(file)],
        ]
    else:
        commands = [
            [python, "-I", "-m", "venv", os.fspath(folder)],
            [inside, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--requirement", str(file)],
        ]
    for command in commands if requirements.strip() else commands[:1]:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
        if ran.returncode:
            return ran.returncode
    folder.chmod(0o700)
    lines = [line for line in requirements.decode(errors="replace").splitlines() if not line.startswith("-")]
    describe(folder, python=python, requirements=without_credentials(", ".join(lines)))
    return 0


def _read(url: str, digest: str) -> bytes:
    """Return the requirements, if they are what the client sent.

    Raises:
        ValueError: They are not.
    """
    if url.startswith(_FILE):
        content = Path(url.removeprefix(_FILE)).read_bytes()
    else:
        import fsspec

        with fsspec.open(url, "rb") as stream:
            content = bytes(stream.read())
    if sha256(content).hexdigest() != digest:
        raise ValueError(f"{url} is not what the client sent")
    return content
