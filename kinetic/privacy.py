"""Folders of this user's alone, where the platform keeps caches."""

import os
import stat
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of this distribution's caches; it need not exist."""
    import platformdirs

    return platformdirs.user_cache_path("kinetic-run")


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can enter; those above it are made too.

    Raises:
        OSError: It cannot be made, or is another user's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_own(folder):
        raise PermissionError(f"{folder} is not this user's own directory")
    folder.chmod(0o700)


def is_own(folder: Path) -> bool:
    """Tell whether it is a directory of this user, and no link to one.

    Raises:
        OSError: It cannot be looked at.
    """
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
