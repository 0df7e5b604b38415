"""A stranger's distribution, really built and installed beside ours, and used."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "thirdparty"

TRAIN = """
import json
import os

import kinetic


@kinetic.run(accelerator="cpu")
def train(rate):
    print("training at", rate)
    return {"rate": rate * 2, "files": sorted(name for name in os.listdir() if name.endswith((".ckpt", ".txt")))}


@kinetic.run(accelerator="cpu")
def fail():
    raise LookupError("no such sample")


if __name__ == "__main__":
    print(json.dumps(train(3)))
    try:
        fail()
    except LookupError as error:
        print(json.dumps(str(error)))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the distribution and install it into an empty folder, without a network."""
    target = tmp_path_factory.mktemp("thirdparty") / "site"
    command = ["pip", "install", "--offline", "--no-deps", "--no-build-isolation", "--python", sys.executable]
    cache = ["--cache-dir", str(target.parent / "cache")]
    subprocess.run([sys.executable, "-m", "uv", *command, *cache, "--target", str(target), str(SOURCE)], check=True)
    return target


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "requirements.txt").write_text("")
    (folder / "old.ckpt").write_text("weights")
    (folder / "notes.txt").write_text("notes")
    return folder


def run(project: Path, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(project.parent), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_job_runs_on_a_strangers_backend_and_its_exclusion_holds(installed: Path, project: Path) -> None:
    ended = run(project, "train.py", PYTHONPATH=str(installed), KINETIC_BACKEND="foreground")

    assert ended.returncode == 0, ended.stderr
    results = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith(("{", '"'))]
    assert results == [{"rate": 6, "files": ["notes.txt", "requirements.txt"]}, "no such sample"]
    assert "training at 3" in ended.stdout


def test_the_command_line_names_the_stranger_and_what_it_kept_out(installed: Path, project: Path) -> None:
    listed = run(project, "-m", "kinetic.cli", "plugins", "--check", "--json", PYTHONPATH=str(installed))
    explained = run(project, "-m", "kinetic.cli", "explain", "train.py:train", "--json", PYTHONPATH=str(installed))

    assert listed.returncode == 0, listed.stderr
    assert "kinetic-foreground" in listed.stdout
    assert "0.3.1" in listed.stdout
    assert explained.returncode == 0, explained.stderr
    assert "plugin:foreground" in explained.stdout


def test_where_it_is_not_installed_its_backend_is_unknown(project: Path) -> None:
    ended = run(project, "train.py", KINETIC_BACKEND="foreground")

    assert ended.returncode == 1
    assert "there is no backend 'foreground'" in ended.stderr
    assert "local (from kinetic-run" in ended.stderr


def test_where_it_is_disabled_the_error_says_so(installed: Path, project: Path) -> None:
    disabled = {"KINETIC_BACKEND": "foreground", "KINETIC_DISABLE_PLUGINS": "foreground"}
    ended = run(project, "train.py", PYTHONPATH=str(installed), **disabled)

    assert ended.returncode == 1
    assert "left out by KINETIC_DISABLE_PLUGINS" in ended.stderr
