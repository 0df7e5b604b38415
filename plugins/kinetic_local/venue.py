"""The venue of a job: its interpreter with the packages beside it, and the variables that it sees."""

import os
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

import kinetic_core
from kinetic_core.model.job import JobSpec
from kinetic_core.model.request import RunOptions
from kinetic_local.bundle import bundle, bundle_where_needed
from kinetic_local.command import runner_command
from kinetic_local.environment import installer_environ, runner_environ
from kinetic_local.places import Places, make_private

if TYPE_CHECKING:
    from kinetic_local.interpreters import Interpreter

_LAYOUT: Final = 1
"""Of the folders of virtual environments."""
_MAKE: Final = (
    "import sys; sys.path += sys.argv.pop(1).split(sys.argv.pop(1));"
    " from kinetic_local.installation import main; main(sys.argv[1:])"
)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Venue:
    """Where a job runs; secrets may stand in it."""

    command: list[str] = attrs.field(repr=False)
    """The runner's, without its workspace."""
    environ: dict[str, str] = attrs.field(repr=False)
    venv: str = ""
    """Path of its virtual environment; empty for none."""
    venv_command: list[str] = attrs.field(factory=list, repr=False)
    """Makes it; the descriptor of its lock is to be added."""
    venv_environ: dict[str, str] = attrs.field(factory=dict, repr=False)


def venue(
    spec: JobSpec, *, environ: Mapping[str, str], storage_options: Mapping[str, Mapping[str, Any]], places: Places
) -> Venue:
    """Return where the job will run; only folders are made.

    Args:
        spec: The job.
        environ: The client's.
        storage_options: What the user said to stores' drivers, by URL scheme.
        places: Of this user.

    Raises:
        ConfigError: There is no such interpreter.
        SubmissionError: The runner cannot be brought to it.
        OSError: A folder cannot be made.
    """
    variables = runner_environ(spec, environ, storage_options)
    if not is_elsewhere(spec.options):
        return Venue(command=runner_command(spec, bundle=bundle_where_needed(places.state)), environ=variables)

    from kinetic_local.interpreters import find_interpreter  # few jobs ask for another, and all would pay for it

    interpreter = find_interpreter(spec.options.python, environ, places.home)
    if spec.options.isolation == "venv":
        return _isolated(
            spec,
            interpreter=interpreter,
            environ=environ,
            variables=variables,
            storage_options=storage_options,
            places=places,
        )
    if interpreter.is_own:
        return Venue(command=runner_command(spec, bundle=bundle_where_needed(places.state)), environ=variables)
    command = runner_command(spec, bundle=bundle(places.state), python=interpreter.path)
    return Venue(command=command, environ=variables)


def is_elsewhere(options: RunOptions) -> bool:
    """Tell whether a job asks for another interpreter, or other packages, than the client's."""
    return options.python is not None or options.isolation == "venv"


def _isolated(
    spec: JobSpec,
    *,
    interpreter: "Interpreter",
    environ: Mapping[str, str],
    variables: dict[str, str],
    storage_options: Mapping[str, Mapping[str, Any]],
    places: Places,
) -> Venue:
    make_private(places.environments)
    venv = f"{places.environments}/{_key(interpreter, spec)}"
    path = f"{venv}/bin{os.pathsep}{variables['PATH']}" if variables.get("PATH") else f"{venv}/bin"
    return Venue(
        command=runner_command(spec, bundle=bundle(places.state), python=f"{venv}/bin/python"),
        environ=variables | {"PATH": path},
        venv=venv,
        venv_command=_make(venv, interpreter, spec, environ),
        venv_environ=installer_environ(spec, environ, storage_options),
    )


def _key(interpreter: "Interpreter", spec: JobSpec) -> str:
    """Return the name of an environment by what it is made of."""
    listed = spec.requirements.sha256 if spec.requirements is not None else ""
    made_of = (_LAYOUT, listed, interpreter.version, interpreter.tag, interpreter.platform, interpreter.base)
    return sha256(repr(made_of).encode()).hexdigest()[:32]


def _make(venv: str, interpreter: "Interpreter", spec: JobSpec, environ: Mapping[str, str]) -> list[str]:
    from kinetic_local.interpreters import find_uv

    folders = dict.fromkeys(str(Path(file).parents[1]) for file in (__file__, kinetic_core.__file__))
    listed = spec.requirements
    return [
        *(sys.executable, "-I", "-c", _MAKE, os.pathsep.join(folders), os.pathsep),
        *(venv, interpreter.path, find_uv(environ) or ""),
        *((listed.url, listed.sha256) if listed is not None else ("", "")),
    ]
