"""Finding an interpreter by version or by path."""

import sys
from pathlib import Path

import pytest

from kinetic_core.errors import ConfigError
from kinetic_local.interpreters import find_interpreter, find_uv, own_interpreter

ANSWER = """#!/bin/sh
echo '{{"path": "{path}", "version": "{version}", "tag": "cpython-{tag}", "platform": "linux-x", "base": "/base"}}'
"""


def pretend(path: Path, version: str) -> Path:
    """Make a program that answers as a Python of that version would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tag = "".join(version.split(".")[:2])
    path.write_text(ANSWER.format(path=path, version=version, tag=tag))
    path.chmod(0o755)
    return path


def environ(*folders: Path, **more: str) -> dict[str, str]:
    return {"PATH": ":".join(["/usr/bin", "/bin", *map(str, folders)]), **more}


def test_nothing_asked_for_is_the_clients_own(tmp_path: Path) -> None:
    assert find_interpreter(None, {}, tmp_path) == own_interpreter()
    assert own_interpreter().path == sys.executable


@pytest.mark.parametrize("wanted", ["3.97", "3.97.4", "python3.97", "cpython3.97.4"])
def test_a_version_is_found_on_the_path(tmp_path: Path, wanted: str) -> None:
    program = pretend(tmp_path / "bin/python3.97", "3.97.4")
    found = find_interpreter(wanted, environ(tmp_path / "bin"), tmp_path)
    assert (found.path, found.version, found.is_own) == (str(program), "3.97.4", False)


def test_the_newest_of_pyenvs_is_found_though_no_shim_starts_it(tmp_path: Path) -> None:
    shim = tmp_path / "shims/python3.97"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.97: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    for version in ("3.97.9", "3.97.10", "3.96.1"):
        pretend(tmp_path / f".pyenv/versions/{version}/bin/python", version)
    found = find_interpreter("3.97", environ(shim.parent), tmp_path)
    assert found.version == "3.97.10"
    moved = environ(PYENV_ROOT=str(tmp_path / "elsewhere"))
    pretend(tmp_path / "elsewhere/versions/3.97.2/bin/python", "3.97.2")
    assert find_interpreter("3.97", moved, tmp_path).version == "3.97.2"


def test_uv_is_asked_last(tmp_path: Path) -> None:
    program = pretend(tmp_path / "managed/python", "3.97.4")
    uv = tmp_path / "bin/uv"
    uv.parent.mkdir()
    uv.write_text(f'#!/bin/sh\n[ "$1 $2" = "python find" ] && echo {program}\n')
    uv.chmod(0o755)
    first = environ() | {"PATH": f"{uv.parent}:/usr/bin:/bin"}
    assert find_uv(first) == str(uv)
    assert find_interpreter("3.97", first, tmp_path).path == str(program)


def test_one_that_is_another_version_than_its_name_says_is_not_taken(tmp_path: Path) -> None:
    pretend(tmp_path / "bin/python3.97", "3.96.1")
    with pytest.raises(ConfigError, match=r"there is no such Python .* found .*3\.97"):
        find_interpreter("3.97", environ(tmp_path / "bin"), tmp_path)


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    program = pretend(tmp_path / "mine/py", "3.97.4")
    assert find_interpreter(str(program), environ(), tmp_path).version == "3.97.4"
    assert find_interpreter("~/mine/py", environ(), tmp_path).version == "3.97.4"


def test_one_that_changed_is_asked_again(tmp_path: Path) -> None:
    import os

    program = pretend(tmp_path / "py", "3.97.4")
    assert find_interpreter(str(program), environ(), tmp_path).version == "3.97.4"
    pretend(program, "3.98.0")
    os.utime(program, (1, 1))
    assert find_interpreter(str(program), environ(), tmp_path).version == "3.98.0"


@pytest.mark.parametrize("version", ["3.10.13", "3.9.0"])
def test_one_that_is_too_old_for_the_runner_is_refused(tmp_path: Path, version: str) -> None:
    program = pretend(tmp_path / "py", version)
    with pytest.raises(ConfigError, match=f"is Python {version}; a job needs Python 3.11 or newer"):
        find_interpreter(str(program), environ(), tmp_path)


@pytest.mark.parametrize("said", ["not json", '{"path": 1}', "[]"])
def test_a_program_that_answers_something_else_is_no_python(tmp_path: Path, said: str) -> None:
    program = pretend(tmp_path / "py", "3.97.4")
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    with pytest.raises(ConfigError, match="does not start as a Python"):
        find_interpreter(str(program), environ(), tmp_path)
