"""Peers: each in an environment of its own, installed from the package index by the benchmark itself."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.contestants import ContestantError

PEERS: Final[Mapping[str, str]] = {
    "keras-kinetic": "Kinetic",
    "ray": "Ray",
    "metaflow": "Metaflow",
    "modal": "Modal",
    "skypilot": "SkyPilot",
    "flytekit": "Flyte",
    "lithops": "Lithops",
    "submitit": "submitit",
    "loky": "loky",
}
"""Names of distributions, and what people call them."""
# What a distribution leaves to its user: Ray's packaging reads ignore files only with this, and so on.
_BESIDE: Final[Mapping[str, tuple[str, ...]]] = {"loky": ("cloudpickle",)}
_TIMEOUT_S: Final = 1800


def interpreter(folder: Path, distribution: str) -> Path:
    """Return the interpreter of a peer's environment, which is made when it is not there.

    A failure is remembered beside the environment; remove that file to try again.

    Args:
        folder: Of all environments.
        distribution: One of `PEERS`.

    Raises:
        ContestantError: It cannot be installed; says why.
    """
    home = folder / distribution
    python, done, failed = home / "bin" / "python", home / "installed", folder / f"{distribution}.failed"
    if failed.is_file():
        raise ContestantError(failed.read_text(encoding="utf-8"))
    if done.is_file():
        return python
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _run([sys.executable, "-m", "venv", "--clear", str(home)])
        _run([str(python), "-m", "pip", "install", "--quiet", distribution, *_BESIDE.get(distribution, ())])
    except _InstallError as error:
        reason = f"not installable here: {error}"
        failed.write_text(reason, encoding="utf-8")
        raise ContestantError(reason) from error
    done.write_text(_version(python, distribution), encoding="utf-8")
    return python


def version(folder: Path, distribution: str) -> str:
    """Return the installed version, or nothing."""
    done = folder / distribution / "installed"
    return done.read_text(encoding="utf-8").strip() if done.is_file() else ""


class _InstallError(Exception):
    """Its message is the last line of what the installer said."""


def _run(command: list[str]) -> None:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise _InstallError("the installation took too long") from error
    if ran.returncode:
        lines = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")] or ran.stderr.splitlines()
        raise _InstallError(lines[-1].removeprefix("ERROR: ") if lines else f"exit code {ran.returncode}")


def _version(python: Path, distribution: str) -> str:
    asked = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout
