"""What lies at a path, asked without ever failing: what cannot be looked at counts as absent.

`Path.is_file` and its like raise `PermissionError` below a directory that may not be entered.
"""

import os
from pathlib import Path


def is_file(path: Path) -> bool:
    """Tell whether a regular file lies there, links followed.

    >>> is_file(Path("/nowhere")), is_file(Path("/"))
    (False, False)
    """
    return os.path.isfile(path)


def is_directory(path: Path) -> bool:
    """Tell whether a directory lies there, links followed.

    >>> is_directory(Path("/"))
    True
    """
    return os.path.isdir(path)


def exists(path: Path) -> bool:
    """Tell whether anything lies there, links followed.

    >>> exists(Path("/nowhere"))
    False
    """
    return os.path.exists(path)
