"""The dependency file of a job with `isolation="venv"`: what is wrong with it is told at once."""

import subprocess
import sys

import pytest

from tests.system.local.conftest import Machine


def test_a_local_path_in_the_dependency_file_is_an_error_as_for_a_pod(machine: Machine) -> None:
    project = machine.base / "project"
    (project / "lib").mkdir(parents=True)
    (project / "requirements.txt").write_text("./lib\n")
    (project / "main.py").write_text(
        "import kinetic\n"
        "@kinetic.run(accelerator='cpu', backend='local')\n"
        "def f():\n    return 7\n"
        "if __name__ == '__main__':\n    print(f())\n"
    )

    def main(**environ: str) -> "subprocess.CompletedProcess[str]":
        command, env = [sys.executable, "main.py"], machine.environ(**environ)
        return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)

    assert main().stdout.splitlines()[-1:] == ["7"]
    refused = main(KINETIC_ISOLATION="venv")
    assert refused.returncode == 1
    assert "requirements.txt:1: './lib' points at a local path" in refused.stderr


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("requirements.txt", "# first\nnumpy>>2\n", "requirements.txt:2: 'numpy>>2' is no valid requirement"),
        (
            "pyproject.toml",
            '[project]\ndependencies = [\n  "two words",\n]\n',
            "pyproject.toml:3: 'two words' is no valid requirement",
        ),
        ("pyproject.toml", "[project]\ndependencies = nothing\n", "Invalid value (at line 2"),
    ],
)
def test_a_damaged_dependency_file_is_told_before_anything_is_uploaded(
    machine: Machine, file: str, text: str, told: str
) -> None:
    project = machine.base / "project"
    project.mkdir()
    (project / file).write_text(text)
    (project / "main.py").write_text(
        "import kinetic\n@kinetic.run(accelerator='cpu', backend='local', isolation='venv')\ndef f(): return 7\nf()\n"
    )
    store = machine.base / "its-store"
    env = machine.environ(KINETIC_STORAGE=f"file://{store}")
    ended = subprocess.run(
        [sys.executable, "main.py"], cwd=project, env=env, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert f"PackagingError: {project}/{file}" in ended.stderr
    assert told in ended.stderr
    assert [path for path in store.rglob("*") if path.is_file()] == []
