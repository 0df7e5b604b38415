"""Projects on disk whose modules are imported here, packaged, and called in another interpreter."""

import ast
import importlib
import pickle
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, NewType

from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.call import Call, WrittenPayload
from kinetic_core.packaging.modules import first_party_modules
from kinetic_core.packaging.pickling import write_payload
from kinetic_core.wire.plan import Plan

READER = Path(__file__).with_name("payload_reader.py")
FOREIGN = NewType("FOREIGN", int)
OWN_PACKAGES = frozenset(("kinetic", "kinetic_core", "kinetic_runner"))
HELPERS = """
    import threading

    LOCK = threading.Lock()
    RATE = 1

    class Model:
        def __init__(self, x):
            self.x = x

        def scaled(self):
            return Model(self.x * RATE)

    def set_rate(rate):
        global RATE
        RATE = rate
"""


class Project:
    """A package root and a folder for artifacts."""

    def __init__(self, root: Path, artifacts: Path) -> None:
        self.root = root
        self.payload = artifacts / "payload.pkl"
        self.surroundings = Surroundings(environ={}, home=root.parent, cwd=root, sys_path=())

    def write(self, files: Mapping[str, str]) -> None:
        """Write source files by their names relative to the root."""
        for name, source in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(source), encoding="utf-8")
        importlib.invalidate_caches()

    def load(self, name: str) -> ModuleType:
        """Import one of its modules here."""
        return importlib.import_module(name)

    def first_party(self) -> dict[str, ModuleType]:
        """Return its modules that are imported here."""
        return first_party_modules(self.root, self.surroundings, dict(sys.modules), own_packages=OWN_PACKAGES)

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
        """Return a call of a function."""
        return Call(
            function=function,
            args=args,
            kwargs=kwargs,
            working_dir=str(self.root),
            plan=Plan(package_root=str(self.root)),
            kinetic_version="0.1.0",
        )

    def package(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> WrittenPayload:
        """Write the payload of a call."""
        return self.package_call(self.call(function, *args, **kwargs))

    def package_call(self, call: Call, *, references: tuple[type, ...] = ()) -> WrittenPayload:
        """Write the payload."""
        return write_payload(
            call, self.payload, first_party=self.first_party(), own_packages=OWN_PACKAGES, references=references
        )

    def loaded(self) -> dict[str, Any]:
        """Load the payload here."""
        with self.payload.open("rb") as stream:
            raw: dict[str, Any] = pickle.load(stream)
        return raw

    def run_elsewhere(self, *, path: Collection[str | Path] = ()) -> Any:
        """Make the payload's call in another interpreter, which finds no project but on the path; a literal returns."""
        ran = self.try_elsewhere(path=path)
        assert ran.returncode == 0, ran.stderr
        return ast.literal_eval(ran.stdout)

    def try_elsewhere(self, *, path: Collection[str | Path] = ()) -> subprocess.CompletedProcess[str]:
        """Make the payload's call in another interpreter."""
        command = [sys.executable, "-P", str(READER), str(self.payload), *map(str, path)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.payload.parent)
