"""The runner's command line: addresses and hashes only, for every user of the machine can read it."""

import sys
from typing import Final

from kinetic_core.model.job import JobSpec

_INSTALLED: Final = ["-P", "-m", "kinetic_runner"]
_FROM_BUNDLE: Final = (
    "import sys, runpy; sys.path.append(sys.argv.pop(1));"
    " runpy.run_module('kinetic_runner', run_name='__main__', alter_sys=True)"
)


def runner_command(spec: JobSpec, *, bundle: str = "", python: str = "") -> list[str]:
    """Return the command that runs the job, without the workspace.

    Args:
        spec: The job.
        bundle: A folder to import the runner from; empty where the interpreter has it installed.
        python: Path of the interpreter; the client's own where it is empty.
    """
    start = ["-P", "-c", _FROM_BUNDLE, bundle] if bundle else _INSTALLED
    return [
        python or sys.executable,
        *start,
        "--context",
        spec.context.url,
        "--context-sha256",
        spec.context.sha256,
        *(word for layer in spec.context.layers for word in ("--context-layer", layer)),
        "--payload",
        spec.payload.url,
        "--payload-sha256",
        spec.payload.sha256,
        "--result",
        spec.result_url,
        "--allowed-serialization",
        ",".join(spec.allowed_serialization),
        "--no-working-dir-link",
    ]


def is_runner(command: list[str]) -> bool:
    """Tell whether the command starts the runner that this interpreter has installed."""
    return command[: len(_INSTALLED) + 1] == [sys.executable, *_INSTALLED]
