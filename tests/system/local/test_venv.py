"""`isolation="venv"`: a job sees what its dependency file names, and nothing else."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from kinetic.testing.jobs import make_job, result_of
from kinetic_core.model.job import JobRef, JobSpec, JobStatus
from kinetic_core.plugin import Backend
from kinetic_local.venvs import kept_venvs, remove_venvs
from tests.fakes.scripted_runner import is_running, wait_until
from tests.fakes.wheels import write_sdist, write_wheel
from tests.system.local.conftest import Machine, run

INSTALLERS = ("uv", "pip")
MADE = ["job_submitted", "environment_requested", "job_started", "job_ended"]


@pytest.fixture(params=INSTALLERS)
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Install with uv, and as where there is no uv."""
    if request.param == "pip":
        monkeypatch.setattr("kinetic_local.interpreters.find_uv", lambda environ: None)
    return str(request.param)


def job(machine: Machine, function: Any, *args: Any, requirements: str | None = "", **options: Any) -> JobSpec:
    return make_job(machine.store, function, *args, requirements=requirements, isolation="venv", **options)


def look(*names: str) -> dict[str, str]:
    """Return where modules come from, or why they do not."""
    import importlib

    found = {}
    for name in names:
        try:
            found[name] = importlib.import_module(name).__file__ or ""
        except ModuleNotFoundError as error:
            found[name] = str(error)
    return found


# By value, for the pod has no module of these tests.
look.__module__ = "__main__"


def test_what_the_dependency_file_names_is_there(machine: Machine, installer: str) -> None:
    write_wheel(machine.wheels, "listed", version="2", text="def main():\n    print('called')\n", script="call-listed")

    def call() -> list[str]:
        import subprocess
        import sys

        import listed  # type: ignore[import-not-found]

        said = subprocess.run(["call-listed"], check=True, capture_output=True, text=True).stdout.strip()
        return [listed.__file__, sys.executable, sys.prefix, said]

    spec = job(machine, call, requirements="listed==2\n")
    ended = run(machine.open(), spec)
    assert ended.state.status is JobStatus.SUCCEEDED, ended.log
    assert ended.kinds == MADE
    (venv,) = kept_venvs(machine.environments)
    file, executable, prefix, said = result_of(spec)["result"]
    assert (executable, prefix, said) == (f"{venv.folder}/bin/python", str(venv.folder), "called")
    assert Path(file).is_relative_to(venv.folder)
    assert venv.requirements == "listed==2"
    assert venv.folder.stat().st_mode & 0o077 == 0


def test_a_forgotten_dependency_fails_as_on_a_pod(machine: Machine) -> None:
    def call() -> object:
        import structlog  # the client has it

        return structlog

    spec = job(machine, call)
    assert run(machine.open(), spec).state.exit_code == 1
    error = result_of(spec)["exception"]
    assert isinstance(error, ModuleNotFoundError)
    assert str(error) == "No module named 'structlog'"


def test_nothing_of_the_client_and_of_the_runner_leaks_in(machine: Machine) -> None:
    def call() -> list[str]:
        import importlib.metadata

        return sorted(one.name for one in importlib.metadata.distributions())

    spec = job(machine, look, "kinetic", "kinetic_local", "attr", "pluggy", "fsspec", "pytest")
    assert run(machine.open(), spec).state.status is JobStatus.SUCCEEDED
    assert result_of(spec)["result"] == {name: f"No module named {name!r}" for name in result_of(spec)["result"]}
    spec = job(machine, call)
    run(machine.open(), spec)
    assert result_of(spec)["result"] == []


def test_what_the_runner_brings_comes_after_the_jobs_own_packages(machine: Machine) -> None:
    def call() -> list[str]:
        import sys

        return sys.path

    spec = job(machine, call)
    run(machine.open(), spec)
    path = result_of(spec)["result"]
    (venv,) = kept_venvs(machine.environments)
    own = [number for number, entry in enumerate(path) if entry.startswith(str(venv.folder))]
    brought = [number for number, entry in enumerate(path) if Path(entry, "kinetic_runner").is_dir()]
    assert len(own) == 1
    assert [number > own[0] for number in brought] == [True]
    assert sorted(entry.name for entry in Path(path[brought[0]]).iterdir()) == [
        "cloudpickle",
        "kinetic_core",
        "kinetic_runner",
    ]


def test_an_environment_is_made_once_for_all_jobs_with_the_same_file(machine: Machine, installer: str) -> None:
    write_wheel(machine.wheels, "listed")
    first, second = (job(machine, look, "listed", requirements="listed\n") for _ in range(2))
    assert run(machine.open(), first).kinds == MADE
    assert run(machine.open(), second).kinds == ["job_submitted", "job_started", "job_ended"]
    assert result_of(first)["result"] == result_of(second)["result"]
    other = job(machine, look, "listed", requirements="listed>=1\n")
    assert run(machine.open(), other).kinds == MADE
    assert len(kept_venvs(machine.environments)) == 2


def test_what_a_user_tells_installers_of_other_places_does_not_count(machine: Machine, installer: str) -> None:
    write_wheel(machine.wheels, "listed")
    elsewhere = str(machine.base / "elsewhere")
    told = dict.fromkeys(("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"), elsewhere) | {"PIP_USER": "1"}
    backend = machine.open(UV_SYSTEM_PYTHON="1", UV_PROJECT_ENVIRONMENT=elsewhere, VIRTUAL_ENV=elsewhere, **told)
    spec = job(machine, look, "listed", requirements="listed\n")
    assert run(backend, spec).state.status is JobStatus.SUCCEEDED
    assert str(machine.environments) in result_of(spec)["result"]["listed"]
    assert not Path(elsewhere).exists()


def test_no_dependency_file_is_an_empty_environment(machine: Machine) -> None:
    spec = job(machine, look, "numpy", requirements=None)
    assert run(machine.open(), spec).state.status is JobStatus.SUCCEEDED
    assert result_of(spec)["result"] == {"numpy": "No module named 'numpy'"}


def test_what_cannot_be_installed_fails_the_job_with_the_installers_last_lines(
    machine: Machine, installer: str
) -> None:
    spec = job(machine, look, "listed", requirements="listed==7\n")
    ended = run(machine.open(), spec)
    assert ended.state.status is JobStatus.FAILED
    assert ended.state.reason.startswith("its environment could not be made (exit code 1): ")
    assert "listed==7" in ended.state.reason
    assert "listed==7" in ended.log
    assert "job_started" not in ended.kinds
    assert kept_venvs(machine.environments) == []
    assert [path for path in machine.environments.iterdir() if path.is_dir()] == []
    # A package that appears later is found: a failure is not kept.
    write_wheel(machine.wheels, "listed", version="7")
    again = job(machine, look, "listed", requirements="listed==7\n")
    assert run(machine.open(), again).state.status is JobStatus.SUCCEEDED


def test_no_credential_of_an_index_is_told(machine: Machine) -> None:
    url = "https://me:t0ken@127.0.0.1:9/listed-1-py3-none-any.whl"
    ended = run(machine.open(UV_HTTP_RETRIES="0"), job(machine, look, "listed", requirements=f"listed @ {url}\n"))
    assert ended.state.status is JobStatus.FAILED
    assert "t0ken" not in ended.state.reason


def waiting_sdist(machine: Machine) -> None:
    """Offer a distribution that tells when it is built, and waits until it may be."""
    write_sdist(
        machine.wheels,
        "slow",
        before_building=f"""
        import os, time
        with open({str(machine.base / "built")!r}, "a") as stream:
            stream.write(f"{{os.getpid()}}\\n")
        while not os.path.exists({str(machine.base / "may")!r}):
            time.sleep(0.01)
        """,
    )


def builders(machine: Machine) -> list[int]:
    built = machine.base / "built"
    return [int(line) for line in built.read_text().splitlines()] if built.exists() else []


def test_submitting_does_not_wait_for_the_environment(machine: Machine, installer: str) -> None:
    waiting_sdist(machine)
    backend, spec = machine.open(), job(machine, look, "slow", requirements="slow\n")
    ref = backend.submit(spec)
    wait_until(lambda: builders(machine) != [])
    state = backend.status(ref)
    assert (state.status, state.reason) == (JobStatus.PENDING, "making its environment")
    (machine.base / "may").touch()
    list(backend.events(ref, timeout_s=90))
    assert backend.status(ref).status is JobStatus.SUCCEEDED


def test_cancelling_ends_the_installer_and_leaves_nothing_half_made(machine: Machine) -> None:
    waiting_sdist(machine)
    backend = machine.open()
    ref = backend.submit(job(machine, look, "slow", requirements="slow\n"))
    wait_until(lambda: builders(machine) != [])
    backend.cancel(ref)
    assert backend.status(ref).status is JobStatus.CANCELLED
    assert [pid for pid in builders(machine) if is_running(pid)] == []
    assert [path for path in machine.environments.iterdir() if path.is_dir()] == []


def one_makes_and_one_waits(machine: Machine) -> tuple[Backend, JobRef, JobRef]:
    """Submit two jobs that need one environment, of which the first is making it."""
    waiting_sdist(machine)
    backend = machine.open(KINETIC_LOCAL_JOBS="2")
    specs = [job(machine, look, "slow", requirements="slow\n") for _ in range(2)]
    first = backend.submit(specs[0])
    wait_until(lambda: builders(machine) != [])
    second = backend.submit(specs[1])
    wait_until(lambda: backend.status(second).reason == "making its environment")
    return backend, first, second


def test_cancelling_a_job_that_waits_for_anothers_environment_leaves_that_alone(machine: Machine) -> None:
    backend, first, second = one_makes_and_one_waits(machine)
    backend.cancel(second)
    assert backend.status(second).status is JobStatus.CANCELLED
    (machine.base / "may").touch()
    list(backend.events(first, timeout_s=90))
    assert backend.status(first).status is JobStatus.SUCCEEDED
    assert len(builders(machine)) == 1


def test_what_a_killed_maker_left_is_taken_over_by_a_job_that_waits_for_it(machine: Machine) -> None:
    backend, first, second = one_makes_and_one_waits(machine)
    backend.cancel(first)
    wait_until(lambda: len(builders(machine)) == 2)
    (machine.base / "may").touch()
    list(backend.events(second, timeout_s=90))
    assert backend.status(second).status is JobStatus.SUCCEEDED


def test_making_it_counts_as_the_jobs_time(machine: Machine) -> None:
    waiting_sdist(machine)
    ended = run(machine.open_hasty(0.2), job(machine, look, "slow", requirements="slow\n", timeout=1))
    assert (ended.state.status, ended.state.reason) == (JobStatus.FAILED, "timed out after 1 s")


def test_many_jobs_at_once_make_one_environment(machine: Machine) -> None:
    waiting_sdist(machine)
    backend = machine.open(KINETIC_LOCAL_JOBS="4")
    specs = [job(machine, look, "slow", requirements="slow\n") for _ in range(6)]
    threads = [threading.Thread(target=backend.submit, args=(spec,)) for spec in specs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(lambda: builders(machine) != [])
    (machine.base / "may").touch()
    for spec in specs:
        list(backend.events(backend.submit(spec), timeout_s=90))
    assert {backend.status(backend.submit(spec)).status for spec in specs} == {JobStatus.SUCCEEDED}
    assert len(builders(machine)) == 1


def test_what_a_killed_supervisor_left_half_made_is_made_anew(machine: Machine) -> None:
    waiting_sdist(machine)
    backend = machine.open()
    ref = backend.submit(job(machine, look, "slow", requirements="slow\n"))
    wait_until(lambda: builders(machine) != [])
    (submitted,) = [event for event in backend.events(ref, timeout_s=0) if event.kind == "job_submitted"]
    os.kill(submitted.details["pid"], signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, builders(machine))))
    assert [path.is_dir() for path in machine.environments.glob("?" * 32)] == [True]
    (machine.base / "may").touch()
    again = job(machine, look, "slow", requirements="slow\n")
    assert run(backend, again).state.status is JobStatus.SUCCEEDED
    assert str(machine.environments) in result_of(again)["result"]["slow"]


def test_an_environment_in_use_is_not_removed(machine: Machine) -> None:
    def wait(running: str, may: str) -> str:
        import time
        from pathlib import Path

        Path(running).touch()
        while not Path(may).exists():
            time.sleep(0.01)
        import json  # from the interpreter that made the environment

        return str(json.__file__)

    backend, running, may = machine.open(), machine.base / "running", machine.base / "may"
    spec = job(machine, wait, str(running), str(may))
    ref = backend.submit(spec)
    wait_until(running.exists)
    assert remove_venvs(machine.environments) == []
    may.touch()
    list(backend.events(ref, timeout_s=90))
    assert backend.status(ref).status is JobStatus.SUCCEEDED
    wait_until(lambda: len(remove_venvs(machine.environments)) == 1)
    assert list(machine.environments.iterdir()) == []


def test_every_job_of_an_array_and_every_host_runs_in_it(machine: Machine) -> None:
    write_wheel(machine.wheels, "listed")
    backend = machine.open()
    specs = [job(machine, look, "listed", requirements="listed\n", hosts=2) for _ in range(3)]
    refs = backend.submit_many(specs, max_concurrent=2)
    for ref, spec in zip(refs, specs, strict=True):
        list(backend.events(ref, timeout_s=90))
        assert backend.status(ref).status is JobStatus.SUCCEEDED
        assert str(machine.environments) in result_of(spec)["result"]["listed"]
    assert len(kept_venvs(machine.environments)) == 1


def test_a_project_runs_in_its_own_environment_from_the_decorator_on(machine: Machine) -> None:
    write_wheel(machine.wheels, "listed", text="VALUE = 7\n")
    project = machine.base / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "0"\ndependencies = ["listed"]\n')
    (project / "work.py").write_text("def seven():\n    import listed\n    return listed.VALUE\n")
    (project / "main.py").write_text(
        "import kinetic, work\n"
        "@kinetic.run(accelerator='cpu', backend='local', isolation='venv')\n"
        "def f():\n    return work.seven()\n"
        "if __name__ == '__main__':\n    print(f())\n"
    )
    ended = subprocess.run(
        [sys.executable, "main.py"], cwd=project, env=machine.environ(), capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout.strip().splitlines()[-1:]) == (0, ["7"]), ended.stderr


def test_a_client_that_leaves_while_the_environment_is_made_finds_the_value_later(machine: Machine) -> None:
    waiting_sdist(machine)
    project = machine.base / "project"
    project.mkdir()
    (project / "requirements.txt").write_text("slow\n")
    (project / "main.py").write_text(
        "import kinetic\n"
        "@kinetic.run(accelerator='cpu', backend='local', isolation='venv')\n"
        "def f():\n    import slow\n    return slow.__name__\n"
        "if __name__ == '__main__':\n    print(f.run_async().job_id)\n"
    )

    def python(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=project, env=machine.environ(), check=True, capture_output=True, text=True
        ).stdout.strip()

    job_id = python("main.py")
    wait_until(lambda: builders(machine) != [])
    (machine.base / "may").touch()
    assert python("-c", f"import kinetic; print(kinetic.attach({job_id!r}).result())") == "slow"


@pytest.mark.parametrize(
    ("options", "call"),
    [("serialization='json'", "job.plain(1)"), ("", "job.lazy()")],
    ids=["a function that is found by name", "a module that is imported late"],
)
def test_a_project_that_imports_the_client_there_is_told_what_brings_it(
    machine: Machine, options: str, call: str
) -> None:
    project = machine.base / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    (project / "other.py").write_text("import kinetic\nX = 1\n")
    (project / "job.py").write_text(
        "import kinetic, importlib\n"
        f"run = kinetic.run(accelerator='cpu', backend='local', isolation='venv', {options})\n"
        "@run\ndef plain(x):\n    return x\n"
        "@run\ndef lazy():\n    return importlib.import_module('other').X\n"
    )
    command = [sys.executable, "-c", f"import job; {call}"]
    ended = subprocess.run(command, cwd=project, env=machine.environ(), capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "add kinetic-run to the dependency file or the image" in ended.stderr
