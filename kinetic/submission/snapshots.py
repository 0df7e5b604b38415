"""The cache of contexts: for each package root the last archive, and what it was made from.

It is this user's alone, safe to delete at any time, and shared by all processes: an index and its archive belong
together by the archive's hash, each is moved into place whole, and what does not fit together is not used.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from kinetic import settings
from kinetic.log import get_logger
from kinetic.privacy import cache_folder, is_own, make_private, read_kept
from kinetic_core.model.sealed import sealed, unsealed
from kinetic_core.packaging.composition import Composition
from kinetic_core.packaging.snapshot import Snapshot
from kinetic_core.wire.removal import remove_tree

MOST_BYTES: Final = 2 << 30
MOST_ROOTS: Final = 200
MOST_STORES: Final = 4
_MAGIC: Final = b"kinetic compositions 1\n"
_INDEX: Final = "index"
_COMPOSITIONS: Final = "compositions"
_ROOT: Final = "root"
_LOCK: Final = "lock"
_MISPLACED: Final = frozenset({errno.EISDIR, errno.ENOTDIR, errno.ELOOP})
"""Something else lies where a file belongs: the next packaging begins anew."""


@attrs.frozen(kw_only=True)
class KeptContext:
    """What the cache holds for one package root."""

    folder: Path
    root: str
    """As the user spells it."""
    size_bytes: int
    used_at: float
    """Seconds since the epoch."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SnapshotCache:
    """The cache in a folder of its own; the least recently used roots go when it grows too large."""

    folder: Path
    most_bytes: int = MOST_BYTES
    most_roots: int = MOST_ROOTS

    @classmethod
    def of_user(cls) -> "SnapshotCache":
        """Return the user's own cache, where the platform keeps such things."""
        return cls(folder=cache_folder() / "contexts")

    def load(self, root: Path) -> Snapshot | None:
        """Return what the last packaging of a root left, if it is whole.

        Args:
            root: Absolute.
        """
        place = self._place(root)
        try:
            if not (is_own(self.folder) and is_own(place)):
                return None
            data = read_kept(place / _INDEX)
        except OSError:
            return None
        with contextlib.suppress(OSError):
            # What cannot be written to serves all the same; it only grows old.
            os.utime(place / _INDEX)
        return Snapshot.from_bytes(data, lambda sha256: place / f"{sha256}.zip")

    def keep(self, root: Path, snapshot: Snapshot) -> None:
        """Keep what a packaging left, in place of what was there; nothing is said when it cannot be kept.

        Args:
            root: Absolute.
            snapshot: Its archive may lie anywhere, and stays there.
        """
        if snapshot.size_bytes > self.most_bytes or not self.folder.is_absolute():
            return
        place = self._place(root)
        try:
            make_private(self.folder)
            _make_room(place)
            with _locked(place) as is_ours:
                if is_ours:
                    _store(place, root, snapshot)
            self._trim(place)
        except OSError as error:
            if error.errno in _MISPLACED:
                _remove(place)
            get_logger("kinetic.submission").debug("context_not_kept", folder=str(place), error=str(error))

    def compositions(self, root: Path) -> dict[str, Composition]:
        """Return of what stores have archives of a root are made, by the store's key, the last used last.

        Args:
            root: Absolute.
        """
        try:
            place = self._place(root)
            if not (is_own(self.folder) and is_own(place)):
                return {}
            fields = unsealed(_MAGIC, read_kept(place / _COMPOSITIONS))
        except OSError:
            return {}
        raw = json.loads(fields[0]) if fields is not None else {}
        return {store: Composition.from_json(one) for store, one in raw.items()}

    def keep_compositions(self, root: Path, compositions: Mapping[str, Composition]) -> None:
        """Keep of what archives are made, for the stores used last; nothing is said when it cannot be kept.

        Args:
            root: Absolute; nothing is kept of one whose archive is not.
            compositions: By the store's key, the last used last.
        """
        kept = {store: one.to_json() for store, one in list(compositions.items())[-MOST_STORES:]}
        with contextlib.suppress(OSError):
            place = self._place(root)
            if is_own(self.folder) and is_own(place):
                # A stretch told wrong would make another archive: no bit of it may change without a sign.
                _replace(place / _COMPOSITIONS, sealed(_MAGIC, (json.dumps(kept, separators=(",", ":")),)))

    def contents(self) -> tuple[KeptContext, ...]:
        """Return what is kept, the last used first; what else lies in its place counts, too."""
        try:
            # What a link leads to is not the cache's.
            places = list(self.folder.iterdir()) if is_own(self.folder) else []
        except OSError:
            return ()
        found = [_described(place) for place in places]
        return tuple(sorted(found, key=lambda kept: (-kept.used_at, kept.folder)))

    def clear(self) -> tuple[KeptContext, ...]:
        """Remove everything, and return what went."""
        return tuple(kept for kept in self.contents() if _remove(kept.folder))

    def _place(self, root: Path) -> Path:
        # A home may be shared by machines whose processors compress differently.
        key = hashlib.sha256(os.fsencode(f"{settings.machine()}\0{root}")).hexdigest()
        return self.folder / key[:32]

    def _trim(self, current: Path) -> None:
        total = 0
        for number, kept in enumerate(self.contents(), start=1):
            total += kept.size_bytes
            if (total > self.most_bytes or number > self.most_roots) and kept.folder != current:
                _remove(kept.folder)


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file in a second place: as a link where that can be, else as a copy; whole, or not at all.

    Args:
        source: Neither name's holder may write to it.
        target: Replaced when it exists.

    Raises:
        OSError: It cannot be put there.
    """
    with contextlib.suppress(OSError):
        os.link(source, target)
        return
    with _beside(target) as made:
        try:
            os.link(source, made)
        except OSError:
            _copy(source, made)
        # Should both be links to one file already, nothing moves, and the name left over goes with the folder.


def unshare(path: Path) -> None:
    """Give a file that has other names a content of its own, so that whoever writes to it changes no other file.

    Args:
        path: Of the file.

    Raises:
        OSError: It cannot be copied.
    """
    if path.stat().st_nlink > 1:
        with _beside(path) as made:
            _copy(path, made)


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield the place of a file that will stand in the target's, whole, when the body is through."""
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        made = Path(folder, "file")
        yield made
        made.replace(target)


def _copy(source: Path, target: Path) -> None:
    target.touch(mode=0o600)
    shutil.copyfile(source, target)


def _make_room(place: Path) -> None:
    """Make the folder of a root; a link or a file in its place goes."""
    with contextlib.suppress(FileNotFoundError):
        if not is_own(place):
            _remove(place)
    place.mkdir(mode=0o700, exist_ok=True)


def _store(place: Path, root: Path, snapshot: Snapshot) -> None:
    archive = place / f"{snapshot.sha256}.zip"
    is_new = snapshot.archive != archive and not archive.exists()
    if snapshot.archive != archive:
        link_or_copy(snapshot.archive, archive)
    try:
        if not _holds(place / _ROOT, os.fsencode(root)):
            _replace(place / _ROOT, os.fsencode(root))
        _replace(place / _INDEX, snapshot.to_bytes())
    except OSError:
        if is_new:
            archive.unlink(missing_ok=True)  # no index names it
        raise
    for left in place.iterdir():
        if left.name not in {_INDEX, _COMPOSITIONS, _ROOT, _LOCK, archive.name}:
            _remove(left)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_kept(path) == data
    except OSError:
        return False


def _replace(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _remove(path: Path) -> bool:
    """Remove a file, a tree or a link, and tell whether it went."""
    try:
        remove_tree(path)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _locked(place: Path) -> Iterator[bool]:
    """Hold a folder against other processes that would write there; tell whether it worked, and never wait."""
    descriptor = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            try:
                yield True
            finally:
                # Closing would not do: a fork made meanwhile holds it open, and the lock with it.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _described(place: Path) -> KeptContext:
    size, used_at, root = 0, 0.0, ""
    with contextlib.suppress(OSError):
        status = place.lstat()
        size, used_at = status.st_size, status.st_mtime
        if not is_own(place):
            return KeptContext(folder=place, root=root, size_bytes=size, used_at=used_at)
        size = sum(path.lstat().st_size for path in place.iterdir())
        used_at = (place / _INDEX).stat().st_mtime
        root = os.fsdecode(read_kept(place / _ROOT))
    return KeptContext(folder=place, root=root, size_bytes=size, used_at=used_at)
