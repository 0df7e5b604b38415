"""The command line as a program: a real process with a home of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest


class Cli(Protocol):
    """Runs `kinetic` and returns what it printed and how it ended."""

    def __call__(self, *args: str, **environ: str) -> "subprocess.CompletedProcess[str]": ...


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def cli(home: Path, project: Path) -> Cli:
    kept = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "COVERAGE_PROCESS_START", "TMPDIR")
    base = {name: os.environ[name] for name in kept if name in os.environ}

    def run(*args: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "kinetic.cli", *args],
            cwd=project,
            env={**base, "HOME": str(home), **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    return run
