"""Source of classes that came by value.

For a function `inspect` reads the file off its code. For a class it asks `sys.modules` for the module, where the
project's are only once they are imported here, and where `__main__` is the runner.
"""

import inspect
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
        file = files.get(what.__module__) if isinstance(what, type) and not _is_found(what) else None
        return find(what) if file is None else file

    teaching: Any = getfile
    inspect.getfile = teaching


def _is_found(cls: type) -> bool:
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls
