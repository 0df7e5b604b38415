"""`kinetic cache` shows what earlier packagings left, and removes it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.cli.conftest import Cli

JOB = "def f():\n    return 1\n"
DATA_JOB = """
import kinetic

@kinetic.run(accelerator="cpu", backend="local", volumes={"/data": kinetic.Data("numbers")})
def f():
    return 1
"""

VENV_JOB = """
import kinetic

@kinetic.run(accelerator="cpu", backend="local", isolation="venv")
def f():
    return 1

if __name__ == "__main__":
    f()
"""


def test_a_home_that_is_no_directory_keeps_nothing(cli: Cli, project: Path) -> None:
    (project / "home").touch()
    for command in (["cache", "info"], ["cache", "clear"], ["gc"]):
        ended = cli(*command, HOME=str(project / "home"), XDG_CACHE_HOME="")
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.fixture
def packaged(cli: Cli, project: Path) -> Path:
    (project / "job.py").write_text(JOB)
    (project / "pyproject.toml").touch()
    assert cli("package", "job.py:f", "-o", "../out").returncode == 0
    return project


def test_info_names_each_project_with_its_size(cli: Cli, packaged: Path, home: Path) -> None:
    found = json.loads(cli("cache", "info", "--json").stdout)
    assert Path(found["folder"]).is_relative_to(home)
    (root,) = found["roots"]
    assert root["root"] == str(packaged)
    assert root["size_bytes"] == found["size_bytes"] > 0
    shown = cli("cache", "info").stdout
    assert str(packaged) in shown
    assert found["folder"] in shown


@pytest.fixture
def hashed(cli: Cli, project: Path) -> Path:
    """Return a folder of `Data` that was hashed."""
    folder = project / "numbers"
    folder.mkdir()
    for number in range(20):
        (folder / str(number)).write_text(str(number))
    (project / "job.py").write_text(DATA_JOB)
    (project / "pyproject.toml").touch()
    assert cli("package", "job.py:f", "-o", "../out").returncode == 0
    return folder


def test_hashes_of_data_are_shown_and_removed_too(cli: Cli, hashed: Path) -> None:
    found = json.loads(cli("cache", "info", "--json").stdout)
    (data,) = found["data"]
    assert data["path"] == str(hashed)
    assert found["size_bytes"] == data["size_bytes"] + found["roots"][0]["size_bytes"]
    assert str(hashed) in cli("cache", "info").stdout
    assert json.loads(cli("cache", "clear", "--json").stdout) == {"removed": 2, "size_bytes": found["size_bytes"]}
    assert "nothing is kept" in cli("cache", "info").stdout


def test_clear_removes_it_and_says_how_much(cli: Cli, packaged: Path) -> None:
    assert "1 root, and hashes of 0 Data, " in cli("cache", "clear").stdout
    assert "nothing is kept" in cli("cache", "info").stdout
    assert json.loads(cli("cache", "clear", "--json").stdout) == {"removed": 0, "size_bytes": 0}


def test_virtual_environments_of_local_jobs_are_shown_and_removed_too(cli: Cli, project: Path, home: Path) -> None:
    (project / "job.py").write_text(VENV_JOB)
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "1"\ndependencies = []\n')
    environ = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ} | {"HOME": str(home)}
    subprocess.run([sys.executable, "job.py"], cwd=project, env=environ, check=True)
    (kept,) = json.loads(cli("cache", "info", "--json").stdout)["others"]
    assert kept["kind"] == "virtual environment"
    assert kept["name"].endswith(": nothing")
    assert kept["size_bytes"] > 0
    assert "virtual environment" in cli("cache", "info").stdout
    assert ", 1 virtual environment, " in cli("cache", "clear").stdout
    assert list((home / ".kinetic/local/environments").iterdir()) == []
    assert "nothing is kept" in cli("cache", "info").stdout


def test_packaging_again_into_the_same_place_leaves_the_same_files(cli: Cli, packaged: Path) -> None:
    out = packaged.parent / "out"
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.name != "payload.pkl"}
    assert cli("package", "job.py:f", "-o", "../out").returncode == 0
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.name != "payload.pkl"} == before


def test_off_leaves_nothing(cli: Cli, project: Path, home: Path) -> None:
    (project / "job.py").write_text(JOB)
    assert cli("package", "job.py:f", "-o", "../out", KINETIC_CACHE="off").returncode == 0
    assert list(home.iterdir()) == []


def test_a_cache_inside_the_project_does_not_ship(cli: Cli, packaged: Path) -> None:
    for _ in range(2):
        ended = cli("explain", "job.py:f", "--json", XDG_CACHE_HOME=str(packaged / "caches"))
        names = [entry["name"] for entry in json.loads(ended.stdout)["context"]["entries"]]
        assert (packaged / "caches").is_dir()
        assert [name for name in names if "zip" in name or "index" in name] == []
