"""What belongs to a `Data` on disk: names and status, contents unread."""

import errno
import os
import stat
import time
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.errors import PackagingError
from kinetic_core.model.blocks import Block, Listing
from kinetic_core.model.collector import collector_paused
from kinetic_core.model.listing import MODE, MTIME_NS, NAME, STATUS, Listed, listed
from kinetic_core.model.looks import looks

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@attrs.frozen(kw_only=True)
class Found:
    """What counts in a tree."""

    files: Listing = attrs.field(repr=False)
    """Sorted by the bytes of their names. Where the tree is a file, its only row has the file's own name."""
    empty: tuple[str, ...] = ()
    """Directories that hold nothing that counts: as only their names count, they have no row."""
    directories: Listing | None = attrs.field(default=None, repr=False, eq=False)
    """All of them, without a slash at the end; the root is `""`. While they are as they were, so are all names below.
    Nothing where more would have to be told: of what does not count, for it may count some time."""

    @property
    def names(self) -> list[str]:
        """Return all names that count, sorted by their bytes."""
        if not self.empty:
            return self.files.names
        return sorted([*self.files.names, *self.empty], key=os.fsencode)


@attrs.frozen(kw_only=True)
class Tree:
    """A file, or a directory with all that counts below it."""

    path: Path
    is_dir: bool
    found: Found
    started_ns: int
    """When the look began: what changed at that time or later may have changed unseen."""

    @property
    def base(self) -> str:
        """What to put before a name to have its path."""
        return os.path.join(self.path if self.is_dir else self.path.parent, "")


@collector_paused()
def list_tree(path: Path) -> Tree:
    """List a file, or a directory and all below it.

    Symbolic links to files count as the files; links to directories, broken links and special files do not count.
    The path itself may be a link to either.

    Args:
        path: Absolute.

    Raises:
        PackagingError: Something cannot be looked at; the message names it.

    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> _ = (root / "a.txt").write_text("a")
    >>> (root / "empty").mkdir()
    >>> list_tree(root).found.names
    ['a.txt', 'empty']
    """
    started_ns = time.time_ns()
    try:
        status = path.stat()
    except OSError as error:
        raise PackagingError(f"Data: {path} cannot be looked at: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode):
        found = Found(files=Listing([listed(path.name, status)]))
        return Tree(path=path, is_dir=False, found=found, started_ns=started_ns)
    walk = _Walk(base=os.path.join(path, ""))
    walk.run()
    return Tree(path=path, is_dir=True, found=walk.found(), started_ns=started_ns)


@collector_paused()
def look_again(path: Path, found: Found) -> Tree | None:
    """List a directory by the names that are known: nothing is listed, and each name is looked at once more.

    Args:
        path: Absolute.
        found: There, some time ago; what may have changed since without a sign is distrusted.

    Returns:
        `None` where names may have come or gone, or what counted may count no more: `list_tree` tells.

    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> _ = (root / "a.txt").write_text("a")
    >>> tree = list_tree(root)
    >>> look_again(root, tree.found).found.files is tree.found.files
    True
    """
    started_ns = time.time_ns()
    if found.directories is None:
        return None
    base = os.path.join(os.fsencode(path), b"")
    if any(looks(base, block.names) != block.looks for block in found.directories.blocks):
        return None
    files = found.files.seen_again((looks(base, block.names) for block in found.files.blocks), _are_files)
    if files is None:
        return None
    return Tree(path=path, is_dir=True, found=attrs.evolve(found, files=files), started_ns=started_ns)


def _are_files(block: Block) -> bool:
    return all(stat.S_ISREG(row[STATUS][MODE]) for row in block.rows)


@attrs.define(eq=False, repr=False)
class _Walk:
    """One pass, directory by directory."""

    base: str
    _rows: list[Listed] = attrs.field(factory=list, init=False)
    _empty: list[str] = attrs.field(factory=list, init=False)
    _directories: list[Listed] = attrs.field(factory=list, init=False)
    _has_others: bool = attrs.field(default=False, init=False)
    """Whether there is something that does not count."""
    _waiting: list[str] = attrs.field(factory=lambda: [""], init=False)

    def run(self) -> None:
        while self._waiting:
            prefix = self._waiting.pop()
            try:
                self._enter(prefix)
            except OSError as error:
                where = f"{self.base}{prefix}".rstrip("/")
                raise PackagingError(f"Data: the directory {where} cannot be read: {error.strerror}") from error

    def found(self) -> Found:
        # A directory may have no time at all, as the root of FAT.
        is_told = not self._has_others and all(row[MTIME_NS] > 0 for row in self._directories)
        return Found(
            files=Listing(self._ordered()),
            empty=tuple(sorted(self._empty, key=os.fsencode)),
            directories=Listing(sorted(self._directories)) if is_told else None,
        )

    def _ordered(self) -> list[Listed]:
        # The order of text is that of its bytes, but for names that are no text.
        if "".join([row[NAME] for row in self._rows]).isascii():
            self._rows.sort()
        else:
            self._rows.sort(key=lambda row: os.fsencode(row[NAME]))
        return self._rows

    def _enter(self, prefix: str) -> None:
        # Below a descriptor the kernel walks one name a file, not the whole path.
        directory = os.open(self.base + prefix, _DIRECTORY if not prefix else _DIRECTORY | os.O_NOFOLLOW)
        rows, counted = self._rows, len(self._rows) + len(self._waiting)
        try:
            self._directories.append(listed(prefix[:-1], os.stat(directory)))
            with os.scandir(directory) as found:
                for entry in found:
                    if entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        rows.append((prefix + entry.name, status[:7], status.st_mtime_ns, status.st_ctime_ns))
                    elif entry.is_dir(follow_symlinks=False):
                        self._waiting.append(f"{prefix}{entry.name}/")
                    else:
                        self._follow(prefix + entry.name, entry)
        finally:
            os.close(directory)
        if prefix and counted == len(rows) + len(self._waiting):
            self._empty.append(prefix[:-1])

    def _follow(self, name: str, link: "os.DirEntry[str]") -> None:
        try:
            if link.is_file():
                self._rows.append(listed(name, link.stat()))
            else:
                self._has_others = True
        except OSError as error:
            # A link that leads to itself is as broken as one that leads nowhere.
            if error.errno != errno.ELOOP:
                raise
            self._has_others = True
