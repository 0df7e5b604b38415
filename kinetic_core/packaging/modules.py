"""First-party modules: those whose code travels by value, because it lies in the project."""

import importlib.machinery
import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.reach import is_module, namespace_of
from kinetic_core.packaging.relpath import Links
from kinetic_core.packaging.rules import ALWAYS_NAMES, DEFAULT_NAMES

_INSTALLED_NAMES: Final = frozenset(("site-packages", "dist-packages"))
# What lies there is not the project's, also when the user has the default exclusions turned off.
_FOREIGN_NAMES: Final = frozenset((*ALWAYS_NAMES, *DEFAULT_NAMES))
_EXTENSIONS: Final = tuple(importlib.machinery.EXTENSION_SUFFIXES)
_MAIN_NAMES: Final = frozenset(("__main__", "__mp_main__"))


def installed_directories() -> tuple[str, ...]:
    """Return the directories of this interpreter whose content is installed, wherever the project lies."""
    # `sysconfig` would say the same of the two last ones, and read all that the interpreter was built with for it.
    own = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    stdlib, compiled = os.path.dirname(os.__file__), os.path.join(sys.exec_prefix, sys.platlibdir, own)
    candidates = (sys.prefix, sys.exec_prefix, sys.base_prefix, stdlib, compiled)
    return tuple(dict.fromkeys(candidates))


def first_party_modules(
    root: Path,
    surroundings: Surroundings,
    modules: Mapping[str, ModuleType],
    *,
    own_packages: Collection[str],
    installed: Collection[str] | None = None,
    known: dict[str, ModuleType] | None = None,
) -> dict[str, ModuleType]:
    """Return the modules whose file lies under the root and is not installed there; sorted by name.

    Args:
        root: The package root; also recognised through a link.
        surroundings: Of the process; a relative `__file__` counts from its working directory.
        modules: Usually a copy of `sys.modules`, made before, as other threads import.
        own_packages: Top-level packages of this distribution and of its plugins, which never count,
            even from a checkout.
        installed: Directories whose content is installed; `None` for those of this interpreter. One that holds
            the root (a project below `/usr`) does not count.
        known: Modules that an earlier call with the same root found to be ours or installed, by their names alone;
            what this call finds is added. Nearly all modules of a process are: looking at each takes a while.
    """
    known = {} if known is None else known
    chosen = _Chooser(root, surroundings.cwd, installed_directories() if installed is None else installed)
    found: dict[str, ModuleType] = {}
    for name, module in modules.items():
        if known.get(name) is module or name in _MAIN_NAMES or not is_module(module):
            continue
        if name.partition(".")[0] in own_packages:
            known[name] = module
            continue
        location = _location(module)
        if location is None:
            continue
        if chosen.covers(location):
            found[name] = module
        elif _folder(location) in chosen.foreign:
            known[name] = module
    return dict(sorted(found.items()))


def _location(module: ModuleType) -> str | None:
    """Return the module's file, or the directory of a namespace package."""
    namespace = namespace_of(module)
    file = namespace.get("__file__")
    if isinstance(file, str) and file:
        return None if file.endswith(_EXTENSIONS) else file
    try:
        portions = [portion for portion in namespace.get("__path__") or () if isinstance(portion, str)]
    except Exception:  # noqa: BLE001 - a path object of somebody's importer
        return None
    return f"{portions[0]}/__init__.py" if portions else None


def _folder(file: str) -> str:
    return file[: file.rfind(os.sep) + 1]


class _Chooser:
    """Decides by location, asking the file system once a directory."""

    def __init__(self, root: Path, cwd: Path, installed: Collection[str]) -> None:
        self._cwd = str(cwd)
        self._links = Links()
        self._roots = tuple(dict.fromkeys((os.path.normpath(root), self._links.real(str(root)))))
        spellings = {spelled for path in installed for spelled in (os.path.normpath(path), self._links.real(path))}
        self._installed = tuple(path for path in spellings if not any(_is_below(root, path) for root in self._roots))
        self._known: dict[str, bool] = {}
        self.foreign: set[str] = set()
        """Directories that are installed by their names alone, as spelled, with the separator at their end."""

    def covers(self, file: str) -> bool:
        # As spelled: this is asked for every module of the process, and most share a directory.
        folder = _folder(file)
        covered = self._known.get(folder)
        if covered is None:
            directory = os.path.normpath(os.path.join(self._cwd, folder))
            # Nearly all are told by their names alone; only of the others the file system is asked.
            is_foreign = self._is_foreign(directory)
            if folder.startswith(os.sep) and is_foreign:
                self.foreign.add(folder)
            covered = self._known[folder] = not is_foreign and self._covers_directory(directory)
        return covered

    def _covers_directory(self, directory: str) -> bool:
        real = self._links.real(directory)
        if not any(_is_below(spelling, root) for spelling in (directory, real) for root in self._roots):
            return False
        return real == directory or not self._is_foreign(real)

    def _is_foreign(self, directory: str) -> bool:
        if not _INSTALLED_NAMES.isdisjoint(directory.split(os.sep)):
            return True
        if any(_is_below(directory, path) for path in self._installed):
            return True
        inside = next((directory[len(root) :] for root in self._roots if _is_below(directory, root)), "")
        return not _FOREIGN_NAMES.isdisjoint(inside.split(os.sep))


def _is_below(path: str, parent: str) -> bool:
    return path == parent or path.startswith(parent.rstrip(os.sep) + os.sep)
