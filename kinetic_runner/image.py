"""Late imports of the runner's own, that no file of the project can stand in for."""

import importlib
import sys
from types import ModuleType
from typing import Final

_PATH: Final = tuple(sys.path)


def from_image(name: str) -> ModuleType:
    """Import a module as if the workspace were not on the import path.

    A project may hold a `json.py` or an `asyncio.py`; what the runner needs after it entered the workspace must
    still come from the image.

    Raises:
        ImportError: The image does not have it.

    >>> from_image("json").__name__
    'json'
    """
    present = sys.path[:]
    sys.path[:] = _PATH
    try:
        return importlib.import_module(name)
    finally:
        sys.path[:] = present
