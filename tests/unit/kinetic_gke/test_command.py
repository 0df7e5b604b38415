"""The commands of a pod are programs: here they run."""

import subprocess
import sys
from pathlib import Path

import attrs

from kinetic_gke.manifest.command import CARRIED, RUNNER_FOLDER, carry_command, worker_arguments, worker_command
from tests.unit.kinetic_gke.manifests import BARE, BUNDLED, job_spec

HERE = attrs.evolve(BARE, python=sys.executable)


def run(command: list[str], *more: str, bare: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command, on request with nothing that is installed beside this interpreter."""
    python, *rest = command
    return subprocess.run(
        [python, *(["-S"] if bare else []), *rest, *more], capture_output=True, text=True, check=False, cwd="/"
    )


def in_folder(command: list[str], folder: Path) -> list[str]:
    """Return the command for a machine that has the runner's folder elsewhere."""
    return [str(folder) if word == RUNNER_FOLDER else word for word in command]


def test_a_bare_interpreter_runs_the_runner_that_was_brought(tmp_path: Path) -> None:
    folder = tmp_path / "runner"
    folder.mkdir()
    for _ in range(2):  # a node that starts the pod's containers anew finds what is there
        carried = run(in_folder(carry_command(job_spec(), HERE), folder))
        assert (carried.returncode, carried.stderr) == (0, "")
    assert {path.name for path in folder.iterdir()} == set(CARRIED)
    assert list(folder.rglob("__pycache__")) == []

    helped = run(in_folder(worker_command(HERE), folder), "--help", bare=True)
    assert helped.stdout.startswith("usage: kinetic_runner"), helped.stderr
    # What the job is to do leads as far as the store that it cannot reach, and then through fsspec.
    spec = attrs.evolve(job_spec(), result_url=(tmp_path / "result.pkl").as_uri())
    ended = run(in_folder(worker_command(HERE), folder), *worker_arguments(spec, HERE), bare=True)
    assert ended.returncode == 1
    assert (tmp_path / "result.pkl").is_file(), ended.stderr


def test_a_bare_interpreter_alone_would_not() -> None:
    assert "kinetic_runner" in run(worker_command(attrs.evolve(BUNDLED, python=sys.executable)), bare=True).stderr


def test_an_image_of_ours_runs_its_own(tmp_path: Path) -> None:
    helped = run(worker_command(attrs.evolve(BUNDLED, python=sys.executable)), "--help")
    assert helped.stdout.startswith("usage: kinetic_runner"), helped.stderr


def test_the_dependency_file_is_for_images_that_install_it() -> None:
    installing = attrs.evolve(BUNDLED, installs_requirements=True)
    assert "--requirements" not in worker_arguments(job_spec(), BUNDLED)
    assert worker_arguments(job_spec(), installing)[-1].endswith("/requirements.txt")
    assert "--requirements" not in worker_arguments(attrs.evolve(job_spec(), requirements=None), installing)
