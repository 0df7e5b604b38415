"""Source of classes that came by value.

For a function `inspect` reads the file off its code. For a class it asks `sys.modules` for the module, where the
project's are only once they are imported here, and where `__main__` is the runner.
"""

import inspect
import os
import sys
from collections.abc import Mapping
from typing import Any


def teach(files: Mapping[str, str]) -> None:
    """Tell `inspect` where classes come from whose module is another one here, or none.

    Args:
        files: Files of the modules whose code came by value, by the modules' names.
    """
    find: Any = inspect.getfile

    def getfile(what: Any) -> Any:
        if not isinstance(what, type) or _is_found(what):
            return find(what)
        return files.get(what.__module__) or _file_of(what.__module__) or find(what)

    teaching: Any = getfile
    inspect.getfile = teaching


def _is_found(cls: type) -> bool:
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls


def _file_of(module: str) -> str | None:
    """Return the file that an import of the module would run, and run nothing: a class may be all that came of it."""
    place = module.replace(".", os.sep)
    candidates = (os.path.join(entry, f"{place}{end}") for entry in sys.path for end in (f"{os.sep}__init__.py", ".py"))
    return next(filter(os.path.isfile, candidates), None) if module != "__main__" else None
