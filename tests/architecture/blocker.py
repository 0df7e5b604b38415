"""A program: `blocker.py ALLOWED import|run MODULE [ARG...]`, with every other third-party module out of reach."""

import importlib
import importlib.abc
import importlib.machinery
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType

POD_SAFE = ("kinetic_core.errors", "kinetic_core.walk", "kinetic_core.wire")


class Blocker(importlib.abc.MetaPathFinder):
    """Refuses what is neither standard library, nor pod-safe, nor allowed by name."""

    def __init__(self, allowed: set[str]) -> None:
        self.allowed = allowed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = fullname.partition(".")[0]
        if top in sys.stdlib_module_names or top in self.allowed or fullname in {"kinetic_core", "kinetic_runner"}:
            return None
        if top == "kinetic_runner" or any(f"{fullname}.".startswith(f"{name}.") for name in POD_SAFE):
            return None
        raise ModuleNotFoundError(f"blocked: {fullname}", name=fullname)


def main() -> None:
    """Block, then import or run."""
    _, allowed, action, module, *arguments = sys.argv
    sys.meta_path.insert(0, Blocker(set(allowed.split(","))))
    if action == "import":
        importlib.import_module(module)
    else:
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
