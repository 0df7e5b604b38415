"""Rule 2: the pod side needs the standard library, cloudpickle and the pod-safe part of the core."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, module_name, python_files

BLOCKER = Path(__file__).with_name("blocker.py")
POD_SAFE = [
    module_name(path)
    for path in (
        ROOT / "kinetic_core/errors.py",
        *python_files(ROOT / "kinetic_core/wire", ROOT / "kinetic_core/walk"),
    )
]
RUNNER = [module_name(path) for path in python_files(ROOT / "kinetic_runner") if path.name != "__main__.py"]


def run_blocked(*arguments: str, allow: str = "") -> subprocess.CompletedProcess[str]:
    """Run a statement or module in an interpreter that finds nothing but what the pod may need."""
    command = [sys.executable, str(BLOCKER), allow, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", POD_SAFE)
def test_a_pod_safe_module_needs_only_the_standard_library(module: str) -> None:
    ran = run_blocked("import", module)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("module", RUNNER)
def test_a_runner_module_adds_only_cloudpickle(module: str) -> None:
    ran = run_blocked("import", module, allow="cloudpickle")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("module", ["attrs", "pluggy", "structlog", "fsspec", "kinetic", "kinetic_core.plugin"])
def test_the_blocker_blocks(module: str) -> None:
    ran = run_blocked("import", module, allow="cloudpickle")
    assert f"blocked: {module}" in ran.stderr


def test_a_job_runs_with_everything_else_blocked(tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    packaged = subprocess.run(
        [sys.executable, "-c", PACKAGE, str(artifacts)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert packaged.returncode == 0, packaged.stderr
    result = tmp_path / "result.pkl"
    ran = run_blocked(
        *("run", "kinetic_runner", "--workspace", str(tmp_path / "workspace")),
        *("--context", artifacts.joinpath("context.zip").as_uri()),
        *("--payload", artifacts.joinpath("payload.pkl").as_uri()),
        *("--result", result.as_uri()),
        allow="cloudpickle",
    )
    assert ran.returncode == 0, ran.stderr
    assert b"eight by 8" in result.read_bytes()


PACKAGE = """
import sys, kinetic

def describe(number):
    return f"eight by {number}"

kinetic.package(describe, (8,), directory=sys.argv[1], accelerator="cpu", backend="local")
"""
