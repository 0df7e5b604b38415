"""What belongs to a `Data` on disk: names and status, contents unread."""

import errno
import os
import stat
import time
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.errors import PackagingError
from kinetic_core.model.collector import collector_paused
from kinetic_core.model.listing import NAME, SIZE, STATUS, Listed, listed

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@attrs.frozen(kw_only=True)
class Tree:
    """A file, or a directory with all that counts below it."""

    path: Path
    is_dir: bool
    rows: tuple[Listed, ...] = attrs.field(repr=False)
    """Files, and directories that hold nothing that counts (these without status, as only their names count);
    sorted by the bytes of their names. A file's only row has the file's own name."""
    started_ns: int
    """When the look began: what changed at that time or later may have changed unseen."""

    @property
    def size_bytes(self) -> int:
        """Add up the sizes of the files, as listed."""
        return sum(row[STATUS][SIZE] for row in self.rows if row[STATUS])

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
    >>> [row[NAME] for row in list_tree(root).rows]
    ['a.txt', 'empty']
    """
    started_ns = time.time_ns()
    try:
        status = path.stat()
    except OSError as error:
        raise PackagingError(f"Data: {path} cannot be looked at: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode):
        return Tree(path=path, is_dir=False, rows=(listed(path.name, status),), started_ns=started_ns)
    walk = _Walk(base=os.path.join(path, ""))
    walk.run()
    return Tree(path=path, is_dir=True, rows=walk.ordered(), started_ns=started_ns)


@attrs.define(eq=False, repr=False)
class _Walk:
    """One pass, directory by directory."""

    base: str
    _rows: list[Listed] = attrs.field(factory=list, init=False)
    _waiting: list[str] = attrs.field(factory=lambda: [""], init=False)

    def run(self) -> None:
        while self._waiting:
            prefix = self._waiting.pop()
            try:
                self._enter(prefix)
            except OSError as error:
                where = f"{self.base}{prefix}".rstrip("/")
                raise PackagingError(f"Data: the directory {where} cannot be read: {error.strerror}") from error

    def ordered(self) -> tuple[Listed, ...]:
        # The order of text is that of its bytes, but for names that are no text.
        if "".join([row[NAME] for row in self._rows]).isascii():
            self._rows.sort()
        else:
            self._rows.sort(key=lambda row: os.fsencode(row[NAME]))
        return tuple(self._rows)

    def _enter(self, prefix: str) -> None:
        # Below a descriptor the kernel walks one name a file, not the whole path.
        directory = os.open(self.base + prefix, _DIRECTORY if not prefix else _DIRECTORY | os.O_NOFOLLOW)
        rows, counted = self._rows, len(self._rows) + len(self._waiting)
        try:
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
            rows.append((prefix[:-1], (), 0, 0))

    def _follow(self, name: str, link: "os.DirEntry[str]") -> None:
        try:
            if link.is_file():
                self._rows.append(listed(name, link.stat()))
        except OSError as error:
            # A link that leads to itself is as broken as one that leads nowhere.
            if error.errno != errno.ELOOP:
                raise
