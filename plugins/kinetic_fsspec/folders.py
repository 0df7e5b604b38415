"""Folders of a `file://` store: private, but for those that all who may write to the store have in common."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from kinetic_core.wire.names import PART_PREFIX

COMMON: Final = frozenset(("jobs", "cache", "outputs"))
"""What every user of a store writes to. All else at its top belongs to one user, or to one job."""
_CONTENT: Final = "cache"
"""Common all the way down: what one user put there, others read instead of putting it there again."""
_PRIVATE: Final = 0o700
_OTHERS_WRITE: Final = 0o022


def make_folder(folder: Path, root: Path) -> None:
    """Make a folder of the store and those above it; what exists stays as it is.

    Where the store's directory was made for several users, the common folders follow its mode and its group; the
    first of them is made together with the others, for a job makes its own below `outputs`.

    Args:
        folder: In the store, or the store's own directory.
        root: The store's directory.
    """
    if folder == root:
        root.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        return
    if not folder.parent.is_dir():
        make_folder(folder.parent, root)
    with suppress(FileExistsError, FileNotFoundError):
        if not _is_common(folder, root):
            folder.mkdir(mode=_PRIVATE)
            return
        for path in {folder, *(root / name for name in COMMON)}:
            if not path.is_dir():
                _make_common(path, root)


def give_to_readers(descriptor: int, target: Path, root: Path) -> None:
    """Let all who share the store read an open file that is common content; any other stays private."""
    if target.relative_to(root).parts[0] == _CONTENT and _is_common(target.parent, root):
        status = root.stat()
        with suppress(PermissionError):
            os.fchown(descriptor, -1, status.st_gid)
        os.fchmod(descriptor, 0o600 | status.st_mode & 0o044)


def _is_common(folder: Path, root: Path) -> bool:
    parts = folder.relative_to(root).parts
    common = parts[:1] == (_CONTENT,) or (len(parts) == 1 and parts[0] in COMMON)
    return common and bool(root.stat().st_mode & _OTHERS_WRITE)


def _make_common(folder: Path, root: Path) -> None:
    """Make a folder that has its mode from the first moment that another user can see it."""
    status = root.stat()
    hidden = folder.parent / f"{PART_PREFIX}{os.urandom(12).hex()}"
    hidden.mkdir(mode=_PRIVATE)
    try:
        with suppress(PermissionError):
            os.chown(hidden, -1, status.st_gid)
        hidden.chmod(stat.S_IMODE(status.st_mode))
        hidden.rename(folder)
    except OSError:
        hidden.rmdir()
        # Somebody else made it meanwhile; a file of that name is told by whoever writes below it.
        if not folder.exists():
            raise
