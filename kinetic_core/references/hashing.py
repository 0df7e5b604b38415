"""Content hashes of files and directory trees, and the walk that says what belongs to one."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.errors import PackagingError

# Change it with the format of what is hashed: an old hash must never name new content.
_FILE_MARKER: Final = b"kinetic data 1: file\0"
_DIRECTORY_MARKER: Final = b"kinetic data 1: directory\0"


@attrs.frozen(kw_only=True)
class TreeEntry:
    """A file, or a directory that holds nothing that counts."""

    name: str
    """`/`-separated, relative to the tree's root."""
    path: Path
    is_dir: bool


@attrs.frozen(kw_only=True)
class Digest:
    """What a path held when it was looked at."""

    sha256: str
    """64 hexadecimal digits over kind, names and contents."""
    size_bytes: int
    file_count: int


def tree_entries(root: Path) -> Iterator[TreeEntry]:
    """Yield what belongs to a directory tree, sorted by the bytes of its names.

    Symbolic links to files count as the files; links to directories, broken links and special files do not count.

    Raises:
        PackagingError: A directory cannot be read.
    """
    found: list[TreeEntry] = []
    waiting = [("", root)]
    while waiting:
        name, directory = waiting.pop()
        files, directories = _children(name, directory)
        found.extend(files)
        waiting.extend(directories)
        if name and not files and not directories:
            found.append(TreeEntry(name=name, path=directory, is_dir=True))
    yield from sorted(found, key=lambda entry: os.fsencode(entry.name))


def digest_of(path: Path) -> Digest:
    """Return the digest of a file or directory, reading files in chunks.

    It depends on kind, relative names and contents, not on where the path lies, on the order of directories on disk,
    on times or on permissions. A file's own name counts, as a directory's relative names do.

    Raises:
        PackagingError: Something cannot be read.
    """
    if not path.is_dir():
        total = hashlib.sha256(_FILE_MARKER)
        size = _add_file(total, path.name, path)
        return Digest(sha256=total.hexdigest(), size_bytes=size, file_count=1)
    total = hashlib.sha256(_DIRECTORY_MARKER)
    size = count = 0
    for entry in tree_entries(path):
        if entry.is_dir:
            total.update(b"D" + _framed(entry.name))
        else:
            size += _add_file(total, entry.name, entry.path)
            count += 1
    return Digest(sha256=total.hexdigest(), size_bytes=size, file_count=count)


def _children(name: str, directory: Path) -> tuple[list[TreeEntry], list[tuple[str, Path]]]:
    files: list[TreeEntry] = []
    directories: list[tuple[str, Path]] = []
    prefix = f"{name}/" if name else ""
    try:
        with os.scandir(directory) as scanned:
            for item in scanned:
                if item.is_dir(follow_symlinks=False):
                    directories.append((prefix + item.name, Path(item.path)))
                elif item.is_file():
                    files.append(TreeEntry(name=prefix + item.name, path=Path(item.path), is_dir=False))
    except OSError as error:
        raise PackagingError(f"Data: the directory {directory} cannot be read: {error.strerror}") from error
    return files, directories


def _add_file(total: "hashlib._Hash", name: str, path: Path) -> int:
    """Add name and content; the content by its own digest, so that no two trees give the same bytes."""
    try:
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").digest()
            size = stream.tell()
    except OSError as error:
        raise PackagingError(f"Data: the file {path} cannot be read: {error.strerror}") from error
    total.update(b"F" + _framed(name) + content)
    return size


def _framed(name: str) -> bytes:
    encoded = os.fsencode(name)
    return len(encoded).to_bytes(8, "big") + encoded
