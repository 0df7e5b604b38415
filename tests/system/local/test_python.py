"""`python=`: a job runs in another interpreter, to see a version skew."""

import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetic.testing.jobs import make_job, result_of
from kinetic_core.model.job import JobStatus
from tests.fakes.interpreters import HERE, OTHERS, interpreter, pyenv_root
from tests.fakes.project import Project
from tests.fakes.wheels import write_wheel
from tests.system.local.conftest import Machine, run


@pytest.fixture(params=OTHERS)
def other(request: pytest.FixtureRequest) -> str:
    """A version that is not this one, and is here."""
    interpreter(str(request.param))
    return str(request.param)


def open_with_pyenv(machine: Machine) -> Any:
    return machine.open(PYENV_ROOT=str(pyenv_root()), PATH="/usr/bin:/bin")


def by_reference() -> Callable[..., Any]:
    """Return a function that both Pythons have: bytecode does not travel between them."""
    return platform.python_version


@pytest.mark.parametrize("isolation", ["process", "venv"])
def test_a_job_runs_in_the_version_that_it_asks_for(machine: Machine, other: str, isolation: str) -> None:
    spec = make_job(machine.store, by_reference(), python=other, isolation=isolation)
    ended = run(open_with_pyenv(machine), spec)
    assert ended.state.status is JobStatus.SUCCEEDED, ended.log
    assert result_of(spec)["result"].startswith(f"{other}.")


def test_a_path_is_an_interpreter_too(machine: Machine, other: str) -> None:
    spec = make_job(machine.store, by_reference(), python=str(interpreter(other)))
    assert run(machine.open(PATH="/usr/bin"), spec).state.status is JobStatus.SUCCEEDED
    assert result_of(spec)["result"].startswith(f"{other}.")


def test_the_clients_own_version_is_the_clients_own_interpreter(machine: Machine) -> None:
    def call() -> str:
        import sys

        return sys.executable

    spec = make_job(machine.store, call, python=HERE)
    assert run(machine.open(PATH=""), spec).state.status is JobStatus.SUCCEEDED
    assert result_of(spec)["result"] == sys.executable


def test_each_version_has_an_environment_of_its_own(machine: Machine, other: str) -> None:
    write_wheel(machine.wheels, "listed")
    backend = open_with_pyenv(machine)
    for version in (HERE, other):
        spec = make_job(machine.store, by_reference(), requirements="listed\n", python=version, isolation="venv")
        ended = run(backend, spec)
        assert "environment_requested" in ended.kinds
        assert ended.state.status is JobStatus.SUCCEEDED, ended.log
    assert len([path for path in machine.environments.iterdir() if path.is_dir()]) == 2


SKEWED = """
    import kinetic
    import helper

    def f(x):
        return helper.twice(x)

    call = kinetic.run(accelerator="cpu", backend="local")(f)
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "client")
    made.write("pyproject.toml", "[project]\nname = 'mine'\nversion = '0'\ndependencies = []\n")
    made.write("helper.py", "def twice(x):\n    return 2 * x\n")
    made.write("train.py", SKEWED)
    return made


def test_a_skew_is_told_from_the_decorator_on(project: Project, other: str) -> None:
    environ = {"PYENV_ROOT": str(pyenv_root()), "KINETIC_PYTHON": other}
    ended = project.run("exec(open('train.py').read()); call(1)", environ=environ, fails=True)
    assert f"client Python {platform.python_version()} / pod Python {other}." in ended.err


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("3.99", "python='3.99': there is no such Python on PATH, in pyenv or in uv; found "),
        ("twelve", "python='twelve' is neither a version of Python 3, such as '3.12', nor the path of an interpreter"),
        ("/bin/true", "python='/bin/true' does not start as a Python"),
        ("./missing", "python='./missing' does not start as a Python"),
    ],
)
def test_an_interpreter_that_is_not_there_is_told_before_anything_is_uploaded(
    project: Project, wanted: str, said: str
) -> None:
    ended = project.run(f"import train; train.call.options(python={wanted!r})(1)", fails=True)
    assert said in ended.err
    assert "PreflightError" in ended.err
    assert not project.store.exists() or project.stored() == []
