"""Other Pythons of this machine."""

import os
import sys
from pathlib import Path

import pytest

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
OTHERS = tuple(version for version in ("3.11", "3.12", "3.13") if version != HERE)
REAL_HOME = Path(os.path.expanduser("~"))  # noqa: PTH111 - before any test has a home of its own


def pyenv_root() -> Path:
    """Return where pyenv keeps its versions, for this machine's user."""
    return Path(os.environ.get("PYENV_ROOT") or REAL_HOME / ".pyenv")


def interpreter(version: str) -> Path:
    """Return the newest program of that minor version; skip the test where there is none."""
    found = sorted((pyenv_root() / "versions").glob(f"{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} here")
    return found[-1]
