"""A private directory for what the runner needs besides the workspace."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_TRIES: Final = 100


def make_scratch(environ: Mapping[str, str], *, at_once: bool = True) -> Path:
    """Make a directory of mode 0700 under a random name, below `TMPDIR` or the system's own place.

    Not the standard library's `tempfile`: importing it costs a fifth of a cold start.

    Args:
        environ: This process's.
        at_once: Whether it is sure to be used; otherwise it is only named, and who uses it makes it with that mode.

    Raises:
        OSError: No such directory can be made.
    """
    parent = Path(environ.get("TMPDIR") or "/tmp")  # noqa: S108 - the name made in it is random and private
    for _ in range(_TRIES):
        path = parent / f"kinetic-{os.urandom(8).hex()}"
        try:
            if at_once:
                path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return path.resolve()
    raise FileExistsError(f"no free name for a private directory in {parent}")
