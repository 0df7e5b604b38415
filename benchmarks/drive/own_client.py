"""This project's round trip through its local backend."""

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.drive.step import Step

JOB: Final = """\
import kinetic

KEYWORDS = {"accelerator": "cpu", "backend": "local"}


def double(x):
    return 2 * x
"""


def round_trip(config: Mapping[str, Any]) -> Step:
    """Call `f(1)` elsewhere on this machine, and wait for the value."""
    project = Path(config["project"])
    project.joinpath("job.py").write_text(JOB, encoding="utf-8")
    os.chdir(project)
    sys.path.insert(0, str(project))
    job = importlib.import_module("job")
    double = job.kinetic.run(storage=config["store"], **job.KEYWORDS)(job.double)

    def act() -> None:
        if double(1) != 2:  # noqa: PLR2004 - twice one
            raise RuntimeError("the value is wrong")

    return Step(act=act)
