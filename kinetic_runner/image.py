"""Late imports of the runner's own, that no file of the project can stand in for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_PATH: Final = tuple(sys.path)


@contextmanager
def image_path() -> Iterator[None]:
    """Import within this as if the workspace were not on the import path.

    A project may hold a `json.py` or an `asyncio.py`; what the runner needs after it entered the workspace must
    still come from the image.

    >>> with image_path():
    ...     import json
    """
    present = sys.path[:]
    sys.path[:] = _PATH
    try:
        yield
    finally:
        sys.path[:] = present
