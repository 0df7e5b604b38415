"""Child processes of the function: what travelled by value is found again there by its name.

`multiprocessing` pickles functions and classes by name and insists that the name leads to the very same object. A
function that came by value is another object than the one its module holds, so without help a pool could not be
given a helper of the project. Children import the module from the workspace, whose path they inherit.
"""

import copy
import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pickle import PicklingError
from types import FunctionType, ModuleType
from typing import Any, Final

_REDUCTION: Final = "multiprocessing.reduction"


def teach() -> None:
    """Teach the pickler of `multiprocessing`: now if it is loaded, else as soon as it is."""
    loaded = sys.modules.get(_REDUCTION)
    if loaded is None:
        sys.meta_path.insert(0, _Finder())
    else:
        _teach(loaded)


def by_name(_pickler: Any, obj: Any) -> Any:
    """Reduce a function or class that came by value to the one of the same name in its module.

    Raises:
        PicklingError: It is the main script's, which no child can import.
    """
    if not isinstance(obj, FunctionType | type):
        return NotImplemented
    module_name, path = getattr(obj, "__module__", None), obj.__qualname__
    if not isinstance(module_name, str) or "<locals>" in path:
        return NotImplemented
    twin = _find(module_name, path)
    if twin is obj:
        return NotImplemented
    if module_name == "__main__":
        raise PicklingError(
            f"{path!r} belongs to the main script, which travels by value and which child processes of a job cannot"
            " import: move it into a module of the project and import it from there"
        )
    # Functions and classes are their own copies: this pickles as the name alone.
    return (copy.copy, (twin,)) if type(twin) is type(obj) else NotImplemented


def _find(module_name: str, path: str) -> Any:
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError):
        return None
    return found


def _teach(reduction: ModuleType) -> None:
    reduction.ForkingPickler.reducer_override = by_name


class _Finder:
    """Waits for one module, and is gone when it comes."""

    def find_spec(self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _REDUCTION:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            teaching: Any = _Loader(spec.loader)
            spec.loader = teaching
        return spec


class _Loader:
    """Loads the module as its own loader does, then teaches it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _teach(module)
