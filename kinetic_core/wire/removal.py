"""Removing what a job or a store left on a local disk: follows no link, stops at no read-only directory."""

import errno
import os
from pathlib import Path
from typing import Final

_MAX_DEPTH: Final = 64
_MAX_PASSES: Final = 1000


def remove_tree(path: Path) -> None:
    """Remove a file, a link or a directory tree; what is absent is no error.

    A link is removed, never followed. Directories that deny writing are opened first. Neither the depth of
    the tree nor somebody who still writes into it makes it fail, as long as he ends.

    Args:
        path: What to remove; its parent directory must be writable.

    Raises:
        OSError: Something could not be removed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "file").touch()
    >>> remove_tree(folder)
    >>> folder.exists()
    False
    """
    try:
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        _remove(parent, path.name)
    finally:
        os.close(parent)


def _remove(parent: int, name: str) -> None:
    if _unlink(parent, name):
        return
    for _ in range(_MAX_PASSES):
        try:
            top = _open_directory(parent, name)
        except FileNotFoundError:
            return
        try:
            _empty(top, 0, top)
        finally:
            os.close(top)
        if _rmdir(parent, name):
            return
    raise OSError(errno.ENOTEMPTY, "somebody keeps writing into the directory", name)


def _empty(directory: int, depth: int, top: int) -> None:
    """Empty an open directory; what lies too deep moves up to `top`, so that neither stack nor descriptors run out."""
    for name in os.listdir(directory):
        if _unlink(directory, name):
            continue
        try:
            child = _open_directory(directory, name)
        except FileNotFoundError:
            continue
        try:
            if depth < _MAX_DEPTH:
                _empty(child, depth + 1, top)
            else:
                os.rename(name, f".deep-{os.urandom(8).hex()}", src_dir_fd=directory, dst_dir_fd=top)
                continue
        finally:
            os.close(child)
        _rmdir(directory, name)


def _unlink(parent: int, name: str) -> bool:
    """Tell whether nothing but a directory can have that name now."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError):
        # Linux says EISDIR, others EPERM; a real refusal shows again when the name is opened as a directory.
        return False
    return True


def _open_directory(parent: int, name: str) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        opened = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        opened = os.open(name, flags, dir_fd=parent)
    os.fchmod(opened, 0o700)
    return opened


def _rmdir(parent: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True
