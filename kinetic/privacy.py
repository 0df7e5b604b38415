"""Folders of this user's alone, where the platform keeps caches."""

import os
import stat
import sys
from pathlib import Path
from typing import Final

_IS_LINUX: Final = sys.platform == "linux"


def cache_folder() -> Path:
    """Return the folder of this distribution's caches; it need not exist."""
    if _IS_LINUX:
        # As `platformdirs` does; importing it takes as long as a tenth of a job, and most calls ask several times.
        said = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (said if said.is_absolute() else Path("~/.cache").expanduser()) / "kinetic-run"
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
