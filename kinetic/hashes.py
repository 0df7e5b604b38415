"""The cache of content hashes: for each `Data` path what its files were when they were hashed.

It is this user's alone, safe to delete at any time, and shared by all processes: each path has one file, which is
moved into place whole and carries a checksum, so that any one of them that is read whole may be used.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

import attrs

from kinetic import settings
from kinetic.log import get_logger
from kinetic.privacy import cache_folder, is_own, make_private, read_kept
from kinetic_core.model.collector import collector_paused
from kinetic_core.references.hashing import Hashed, hash_tree
from kinetic_core.references.tree import Tree, list_tree, look_again

MOST_BYTES: Final = 256 << 20
MOST_PATHS: Final = 500
FEW_FILES: Final = 16
FEW_BYTES: Final = 1 << 20
"""What has no more is hashed as fast as its row is found."""
_MOST_THREADS: Final = 8
_LENGTH_BYTES: Final = 4
_LONGEST_PATH_BYTES: Final = 1 << 16


@attrs.frozen(kw_only=True, eq=False, repr=False)
class KeptHashes:
    """What the cache holds for one path."""

    file: Path
    path: str
    """As the user spells it, absolute; empty when it cannot be told."""
    size_bytes: int
    used_at: float
    """Seconds since the epoch."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class HashCache:
    """The cache in a folder of its own; the least recently used paths go when it grows too large."""

    folder: Path
    most_bytes: int = MOST_BYTES
    most_paths: int = MOST_PATHS

    @classmethod
    def of_user(cls) -> "HashCache":
        """Return the user's own cache, where the platform keeps such things."""
        return cls(folder=cache_folder() / "hashes")

    @collector_paused()
    def hash_path(self, path: Path, *, mode: settings.CacheMode) -> Hashed:
        """Return the content hash of a path, reading only what may have changed since the last time.

        Args:
            path: Absolute.
            mode: As `KINETIC_CACHE` says; `verify` reads everything, and warns where the cache would have been wrong.

        Raises:
            PackagingError: Something cannot be read.
        """
        threads = min(_MOST_THREADS, settings.processors())
        if mode == "off" or self._lies_in(path):
            return hash_tree(list_tree(path), threads=threads)
        earlier = self.load(path)
        again = None if earlier is None else look_again(path, earlier.found)
        tree = again if mode == "on" and again is not None else list_tree(path)
        if _is_little(tree):
            return hash_tree(tree, threads=threads)
        hashed = hash_tree(tree, earlier=None if mode == "verify" else earlier, threads=threads)
        if mode == "verify" and earlier is not None and _would_differ(again or tree, earlier, hashed):
            get_logger("kinetic.submission").warning(
                "data_hashes_stale",
                path=str(path),
                remedy="a file that changed during this very check explains it; else the file system does not tell of"
                " changes: set KINETIC_CACHE=off there",
            )
        if hashed is not earlier:
            self.keep(path, hashed)
        return hashed

    def load(self, path: Path) -> Hashed | None:
        """Return what the last hashing of a path left, if it is whole.

        Args:
            path: Absolute.
        """
        file = self._file(path)
        try:
            if not is_own(self.folder):
                return None
            data = read_kept(file)
        except OSError:
            return None
        with contextlib.suppress(OSError):
            # What cannot be written to serves all the same; it only grows old.
            os.utime(file)
        return Hashed.from_bytes(memoryview(data)[_LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little") :])

    def keep(self, path: Path, hashed: Hashed) -> None:
        """Keep what a hashing left, in place of what was there; nothing is said when it cannot be kept.

        Args:
            path: Absolute.
            hashed: Of the path.
        """
        spelled = os.fsencode(path)
        data = b"".join((len(spelled).to_bytes(_LENGTH_BYTES, "little"), spelled, hashed.to_bytes()))
        if len(data) > self.most_bytes or not self.folder.is_absolute():
            return
        try:
            make_private(self.folder)
            _put(data, self._file(path))
            self._trim()
        except OSError as error:
            get_logger("kinetic.submission").debug("data_hashes_not_kept", path=str(path), error=str(error))

    def contents(self) -> tuple[KeptHashes, ...]:
        """Return what is kept, the last used first."""
        try:
            # What a link leads to is not the cache's.
            files = list(self.folder.iterdir()) if is_own(self.folder) else []
        except OSError:
            return ()
        found = [kept for file in files if (kept := _described(file)) is not None]
        return tuple(sorted(found, key=lambda kept: (-kept.used_at, kept.file)))

    def clear(self) -> tuple[KeptHashes, ...]:
        """Remove everything, and return what went."""
        return tuple(kept for kept in self.contents() if _forget(kept.file))

    def _file(self, path: Path) -> Path:
        # A home may be shared by machines where the same path leads elsewhere.
        key = hashlib.sha256(os.fsencode(f"{settings.machine()}\0{path}")).hexdigest()
        return self.folder / key[:32]

    def _lies_in(self, path: Path) -> bool:
        """Tell whether what the cache does would itself change the content."""
        return Path(os.path.realpath(self.folder)).is_relative_to(os.path.realpath(path))

    def _trim(self) -> None:
        total = 0
        for number, kept in enumerate(self.contents(), start=1):
            total += kept.size_bytes
            if total > self.most_bytes or number > self.most_paths:
                _forget(kept.file)


def _would_differ(tree: Tree, earlier: Hashed, hashed: Hashed) -> bool:
    return hash_tree(tree, earlier=earlier).digest != hashed.digest


def _is_little(tree: Tree) -> bool:
    files = tree.found.files
    return len(files) + len(tree.found.empty) <= FEW_FILES and files.size_bytes <= FEW_BYTES


def _put(data: bytes, target: Path) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _forget(file: Path) -> bool:
    try:
        file.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _described(file: Path) -> KeptHashes | None:
    """Return what a file of the cache is; one that another process was writing when it ended counts, too."""
    path = ""
    try:
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode):
            return None
        with contextlib.suppress(OSError), file.open("rb") as stream:
            length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
            path = os.fsdecode(stream.read(min(length, _LONGEST_PATH_BYTES)))
    except OSError:
        return None
    return KeptHashes(file=file, path=path, size_bytes=status.st_size, used_at=status.st_mtime)
