"""Installing the job's own dependencies, where it brought a list of them."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kinetic_runner.log import Log

_MAX_ERROR_CHARS: Final = 8_000


def install(requirements: Path, *, environ: Mapping[str, str], log: Log) -> bool:
    """Install a requirements file with uv, or with pip where there is no uv.

    Args:
        requirements: The file; one without any requirement is no install.
        environ: For `PATH`.
        log: Told what runs.

    Returns:
        Whether anything was installed.

    Raises:
        RuntimeError: The image has no installer, or it failed; then the message ends with what it said.
    """
    if not _has_any(requirements):
        log.stage("requirements are empty, nothing to install")
        return False
    import subprocess  # few jobs bring requirements, and every one would pay for it

    command = [*_installer(environ), "-r", os.fspath(requirements)]
    log.say(f"installing requirements: {' '.join(command)}")
    ran = subprocess.run(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    said = ran.stderr.decode(errors="replace")
    log.text(said)
    if ran.returncode:
        raise RuntimeError(
            f"installing the requirements failed with exit code {ran.returncode}:\n{said[-_MAX_ERROR_CHARS:]}"
        )
    importlib.invalidate_caches()
    return True


def _has_any(requirements: Path) -> bool:
    lines = requirements.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.strip() and not line.strip().startswith("#") for line in lines)


def _installer(environ: Mapping[str, str]) -> Sequence[str]:
    for folder in environ.get("PATH", "").split(os.pathsep):
        uv = os.path.join(folder, "uv")
        if folder and os.access(uv, os.X_OK):
            return [uv, "pip", "install", "--python", sys.executable]
    if importlib.util.find_spec("pip") is None:
        raise RuntimeError("the requirements cannot be installed: this image has neither uv nor pip")
    return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
