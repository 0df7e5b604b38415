"""What `import` costs above a bare interpreter: target 10."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from benchmarks.contestants import OURS, Contestant, ContestantError, Round
from benchmarks.drive.machine import read
from benchmarks.records import Measured
from benchmarks.workshop import Absent, Workshop

_PEERS: Final = (
    ("keras-kinetic", "kinetic", "Kinetic"),
    ("lithops", "lithops", "Lithops"),
    ("metaflow", "metaflow", "Metaflow"),
    ("ray", "ray", "Ray"),
    ("modal", "modal", "Modal"),
    ("flytekit", "flytekit", "Flyte"),
    ("skypilot", "sky", "SkyPilot"),
    ("submitit", "submitit", "submitit"),
    ("loky", "loky", "loky"),
)
_COUNT: Final = "import sys; had = len(sys.modules); import {module}; print(len(sys.modules) - had)"


@attrs.frozen(kw_only=True)
class _Import:
    """A new interpreter that imports one module, beside one that imports nothing."""

    name: str
    module: str
    python: Path
    environ: Mapping[str, str]

    def round(self) -> Round:
        bare = read(lambda: self._run("pass"))
        reading = read(lambda: self._run(f"import {self.module}"))
        facts = {
            "above_bare_ms": (reading.wall_s - bare.wall_s) * 1e3,
            "cpu_above_bare_ms": (reading.cpu_s - bare.cpu_s) * 1e3,
            "modules": float(self._run(_COUNT.format(module=self.module)).stdout.split()[-1]),
            "importtime_ms": self._importtime_ms(),
        }
        foreign = bare.foreign_s + reading.foreign_s
        return Round(reading=reading._replace(foreign_s=foreign, peak_bytes=0), facts=facts)

    def close(self) -> None:
        pass

    def _importtime_ms(self) -> float:
        """Return the interpreter's own figure for the module, with all that it imports."""
        lines = self._run(f"import {self.module}", "-X", "importtime").stderr.splitlines()
        own = [line.split("|") for line in lines if line.startswith("import time:")]
        return next(float(parts[1]) for parts in own if parts[2].strip() == self.module) / 1e3

    def _run(self, statement: str, *options: str) -> "subprocess.CompletedProcess[str]":
        ran = subprocess.run(
            [self.python, *options, "-c", statement],
            env=dict(self.environ),
            cwd=self.environ["HOME"],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise ContestantError((ran.stderr.splitlines() or ["it cannot be imported"])[-1])
        return ran


def measure(shop: Workshop) -> Iterator[Measured]:
    """Import this project and each peer."""
    own = Path(sys.executable)
    contestants: list[Contestant] = [_Import(name=OURS, module="kinetic", python=own, environ=shop.environ())]
    for distribution, module, name in _PEERS:
        try:
            python = shop.python_of(distribution)
        except ContestantError as error:
            contestants.append(Absent(name=name, reason=str(error)))
        else:
            contestants.append(_Import(name=name, module=module, python=python, environ=shop.environ(python)))
    yield shop.measure("import", "`import`, above a bare interpreter", contestants)
