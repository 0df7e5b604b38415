"""Folders of this user's alone, where the platform keeps caches."""

import errno
import os
import stat
from pathlib import Path

from kinetic_core.packaging.smallfiles import FLAGS


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


def read_kept(file: Path) -> bytes:
    """Read a file of a cache whole. A pipe or a device in its place is none, and nobody waits for it.

    Raises:
        OSError: It cannot be read, or is no file.
    """
    descriptor = os.open(file, FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "no file", os.fspath(file))
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(descriptor)
