"""`file://` stores, straight on the operating system: nothing to import, nothing cached."""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from kinetic_core.errors import ConfigError
from kinetic_core.plugin import Progress, StoredObject
from kinetic_core.wire.names import PART_PREFIX
from kinetic_core.wire.removal import remove_tree
from kinetic_fsspec.failures import translated, unwritten
from kinetic_fsspec.keys import checked_key, checked_prefix
from kinetic_fsspec.parts import move_part, write_local, write_part_in_store
from kinetic_fsspec.sources import source

_SCHEME: Final = "file://"
_CHUNK_BYTES: Final = 1 << 20


def root_of(url: str, home: Path) -> Path:
    """Return the directory that a `file://` URL names; the path in it is taken literally, not percent-decoded.

    Args:
        url: Absolute (`file:///data/store`) or in the home directory (`file://~/store`).
        home: What `~` stands for.

    Raises:
        ConfigError: The path is relative, or the file system's root.

    >>> root_of("file://~/.kinetic/store", Path("/home/ann")).as_posix()
    '/home/ann/.kinetic/store'
    """
    path = url.removeprefix(_SCHEME)
    if path.startswith("localhost/"):
        path = path.removeprefix("localhost")
    if path == "~" or path.startswith("~/"):
        path = f"{home}/{path[2:]}"
    root = Path(os.path.normpath(path if not path.startswith("//") else f"/{path.lstrip('/')}"))
    if not root.is_absolute() or "\0" in path or root.parent == root:
        raise ConfigError(
            f"the store {url!r} must name a directory by its absolute path, or one in your home directory:"
            " write 'file:///data/store' or 'file://~/store'"
        )
    return root


class FileStorage:
    """A store that is a directory. Folders it makes are private (0700), files too (0600).

    In a directory that others may write, what all its users have in common follows that directory's mode.

    Every write goes to a part file beside its place and is renamed: a reader sees the old bytes, the new
    bytes or nothing. Reads and writes go where a path leads; listing and removal follow no link below it.

    >>> import tempfile
    >>> store = FileStorage(Path(tempfile.mkdtemp()) / "store")
    >>> store.put_if_absent(b"1", "jobs/job-1"), store.put_if_absent(b"2", "jobs/job-1")
    (True, False)
    >>> store.get_bytes("jobs/job-1"), [found.key for found in store.list("jobs")]
    (b'1', ['jobs/job-1'])
    >>> store.delete_prefix("jobs")
    """

    def __init__(self, root: Path) -> None:
        """Open the store; the directory is made when something is written."""
        self._root = root
        self.url = f"{_SCHEME}{root}"

    def put_file(self, path: Path, key: str, *, progress: Progress | None = None) -> None:
        """Store the file's bytes under the key, replacing what is there."""
        with source(path) as stream:
            self._put(key, lambda part: _copy(stream, part, progress))

    def put_bytes(self, data: bytes, key: str) -> None:
        """Store the bytes under the key, replacing what is there."""
        self._put(key, lambda part: part.write(data))

    def put_if_absent(self, data: bytes, key: str) -> bool:
        """Store the bytes unless the key exists; tell whether this call stored them."""
        with self._writing(key) as target:
            if target.exists():
                return False
            part = write_part_in_store(target, self._root, lambda stream: stream.write(data))
            try:
                return _claim(part, target)
            finally:
                part.unlink(missing_ok=True)

    def get_file(self, key: str, path: Path, *, progress: Progress | None = None) -> None:
        """Write the object to the path, whole or not at all."""
        with translated("read", self.url_of(key)):
            stream = self._path(key).open("rb")
        with stream:
            write_local(path, lambda part: _copy(stream, part, progress))

    def get_bytes(self, key: str) -> bytes:
        """Return the object's bytes."""
        with translated("read", self.url_of(key)):
            return self._path(key).read_bytes()

    def exists(self, key: str) -> bool:
        """Tell whether an object has exactly this key."""
        path = self._path(key)
        with translated("look up", self.url_of(key)):
            try:
                return stat.S_ISREG(path.stat().st_mode)
            except (FileNotFoundError, NotADirectoryError):
                return False

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects below the folder `prefix`, sorted by key."""
        folder = checked_prefix(prefix, self.url)
        with translated("list", f"{self.url}/{folder}"):
            yield from _below(self._root / folder, f"{folder}/" if folder else "")

    def delete_prefix(self, prefix: str) -> None:
        """Delete the object at this key and all below the folder of that name; absence is no error.

        Raises:
            StorageError: The prefix is empty: a store is never deleted as a whole.
        """
        with translated("delete", self.url_of(prefix)):
            remove_tree(self._path(prefix.removesuffix("/")))

    def url_of(self, key: str) -> str:
        """Return the URL under which a pod on this machine fetches the object."""
        return f"{self.url}/{key}"

    def _path(self, key: str) -> Path:
        return self._root / checked_key(key, self.url)

    def _put(self, key: str, write: Callable[[BinaryIO], object]) -> None:
        with self._writing(key) as target:
            move_part(write_part_in_store(target, self._root, write), target)

    @contextmanager
    def _writing(self, key: str) -> Iterator[Path]:
        with unwritten(self.url_of(key)):
            yield self._path(key)


def _copy(stream: BinaryIO, part: BinaryIO, progress: Progress | None) -> None:
    while data := stream.read(_CHUNK_BYTES):
        part.write(data)
        if progress is not None:
            progress(len(data))


def _claim(part: Path, target: Path) -> bool:
    """Give the part its final name unless the name is taken."""
    try:
        os.link(part, target, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        return _claim_locked(part, target)
    return True


def _claim_locked(part: Path, target: Path) -> bool:
    """Do the same where there are no hard links (FUSE mounts, exFAT): one claimant of a folder at a time."""
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if target.exists():
            return False
        part.replace(target)
        return True
    finally:
        # Closing would not do: a fork made meanwhile holds it open, and the lock with it.
        fcntl.flock(folder, fcntl.LOCK_UN)
        os.close(folder)


def _below(folder: Path, prefix: str) -> Iterator[StoredObject]:
    """Yield the regular files below a folder in the order of their keys, which is not that of the bare names."""
    try:
        with os.scandir(folder) as scan:
            entries = sorted((entry.name + "/" * entry.is_dir(follow_symlinks=False), entry) for entry in scan)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name, entry in entries:
        if name.endswith("/"):
            yield from _below(folder / entry.name, prefix + name)
        elif entry.is_file() and not name.startswith(PART_PREFIX):
            with suppress(FileNotFoundError):
                found = entry.stat()
                yield StoredObject(key=prefix + name, size_bytes=found.st_size, modified_s=found.st_mtime)
