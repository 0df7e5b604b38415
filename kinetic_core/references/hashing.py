"""Content hashes of files and directory trees, in which no file that did not change is read again."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.errors import PackagingError
from kinetic_core.model.blocks import Block, Listing
from kinetic_core.model.collector import collector_paused
from kinetic_core.model.listing import NAME, SIZE, STATUS, Listed
from kinetic_core.model.sealed import sealed, unsealed
from kinetic_core.model.threads import Threads
from kinetic_core.model.trust import trusted
from kinetic_core.references.tree import Found, Tree, list_tree
from kinetic_core.wire.contenthash import content_hash

_MAGIC: Final = b"kinetic hashes 2\n"
_DIGEST_BYTES: Final = 32
_CHUNK_BYTES: Final = 1 << 18
_LONG_BYTES: Final = 1 << 20
"""Reading and hashing so much releases the interpreter's lock for long enough to pay for a thread."""
# Without O_NONBLOCK, opening a FIFO that took a file's place would hang.
_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@attrs.frozen(kw_only=True)
class Digest:
    """What a path held when it was looked at."""

    sha256: str
    """64 hexadecimal digits over kind, names and contents."""
    size_bytes: int
    file_count: int


@attrs.frozen(kw_only=True)
class Hashed:
    """A digest, and of what it was made: whoever asks for hashing keeps it, and hands it in the next time."""

    digest: Digest
    is_dir: bool
    found: Found
    """What may have changed since without a sign equals nothing that any look tells."""
    digests: bytes = attrs.field(repr=False)
    """SHA-256 of each file's content, one after the other."""

    def by_row(self) -> dict[Listed, bytes]:
        """Return the SHA-256 of each file's content."""
        return dict(zip(self.found.files, _cut(self.digests), strict=True))

    def to_bytes(self) -> bytes:
        """Return all of it, under a checksum."""
        found = self.found
        files = tuple(map(tuple, found.files.blocks))
        directories = None if found.directories is None else tuple(map(tuple, found.directories.blocks))
        fields = (*attrs.astuple(self.digest), self.is_dir, files, found.empty, directories, self.digests)
        return sealed(_MAGIC, fields)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> "Hashed | None":
        """Read what `to_bytes` wrote; `None` when it is damaged or of another format.

        >>> Hashed.from_bytes(b"") is None
        True
        """
        fields = unsealed(_MAGIC, data)
        if fields is None:
            return None
        sha256, size_bytes, file_count, is_dir, files, empty, directories, digests = fields
        digest = Digest(sha256=sha256, size_bytes=size_bytes, file_count=file_count)
        found = Found(
            files=Listing.of_blocks(starmap(Block, files)),
            empty=empty,
            directories=None if directories is None else Listing.of_blocks(starmap(Block, directories)),
        )
        return cls(digest=digest, is_dir=is_dir, found=found, digests=digests)


def hash_path(path: Path) -> Hashed:
    """Return the content hash of a file or directory, reading all of it.

    Args:
        path: Absolute.

    Raises:
        PackagingError: Something cannot be read; the message names it.
    """
    return hash_tree(list_tree(path))


@collector_paused()
def hash_tree(tree: Tree, *, earlier: Hashed | None = None, threads: int = 1) -> Hashed:
    """Return the content hash of a tree, reading what is not known from an earlier time, in chunks.

    It depends on kind, relative names and contents, not on where the path lies, on the order of directories on disk,
    on times or on permissions. A file's own name counts, as a directory's relative names do. It is the same whatever
    was hashed earlier: a file counts as unchanged when size, times, inode, mode and owner are, and it was last written
    well before it was looked at then.

    Args:
        tree: What to hash.
        earlier: Of any tree, such as this one at an earlier time.
        threads: For long files.

    Raises:
        PackagingError: Something cannot be read; the message names it.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = path.write_text("a")
    >>> hash_tree(list_tree(path)).digest.size_bytes
    1
    """
    found = tree.found
    if earlier is not None and earlier.is_dir == tree.is_dir and _is_same(earlier.found, found):
        if found.directories == earlier.found.directories:
            return earlier
        return attrs.evolve(earlier, found=_trusted(tree))
    known = {} if earlier is None else earlier.by_row()
    read = _read(tree, [row for row in found.files if row not in known], threads)
    digests = {row[NAME]: known[row] if row in known else read[row[NAME]][0] for row in found.files}
    size_bytes = sum(read[row[NAME]][1] if row[NAME] in read else row[STATUS][SIZE] for row in found.files)
    sha256 = content_hash(((name, digests.get(name)) for name in found.names), is_dir=tree.is_dir)
    return Hashed(
        digest=Digest(sha256=sha256, size_bytes=size_bytes, file_count=len(digests)),
        is_dir=tree.is_dir,
        found=_trusted(tree),
        digests=b"".join(digests.values()),
    )


def _is_same(then: Found, now: Found) -> bool:
    return then.files == now.files and then.empty == now.empty


def _trusted(tree: Tree) -> Found:
    """Return what was found, all distrusted that changed so late that it may have changed unseen."""
    found = tree.found
    directories = None if found.directories is None else trusted(found.directories, tree.started_ns)
    return attrs.evolve(found, files=trusted(found.files, tree.started_ns), directories=directories)


def still_holds(path: Path, hashed: Hashed) -> bool:
    """Tell whether a path holds what it held when it was hashed, when only what is in doubt is read once more.

    Raises:
        PackagingError: Something cannot be looked at any more; the message names it.
    """
    tree = list_tree(path)
    found, then = tree.found, hashed.by_row()
    by_name = {row[NAME]: (row[STATUS][SIZE], digest) for row, digest in then.items()}
    if (tree.is_dir, found.empty) != (hashed.is_dir, hashed.found.empty):
        return False
    if [(row[NAME], row[STATUS][SIZE]) for row in found.files] != [(name, size) for name, (size, _) in by_name.items()]:
        return False
    doubtful = [row for row in found.files if row not in then]
    read = _read(tree, doubtful, 1)
    return all(read[row[NAME]][0] == by_name[row[NAME]][1] for row in doubtful)


def _read(tree: Tree, rows: list[Listed], threads: int) -> Mapping[str, tuple[bytes, int]]:
    """Return SHA-256 and size of files, by name."""
    base = tree.base
    long = [row[NAME] for row in rows if row[STATUS][SIZE] >= _LONG_BYTES] if threads > 1 else []
    with Threads(max(1, threads), thread_name_prefix="kinetic-hash") as pool:
        # Threads start with the first piece of work only.
        running = [(name, pool.submit(partial(_hash_file, base + name))) for name in long]
        apart = frozenset(long)
        read = {row[NAME]: _hash_file(base + row[NAME]) for row in rows if row[NAME] not in apart}
        read.update((name, future.result()) for name, future in running)
    return read


def _hash_file(path: str) -> tuple[bytes, int]:
    total = hashlib.sha256()
    size = 0
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(0, "it is no regular file any more")
            while data := os.read(descriptor, _CHUNK_BYTES):
                total.update(data)
                size += len(data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise PackagingError(f"Data: the file {path} cannot be read: {error.strerror}") from error
    return total.digest(), size


def _cut(digests: bytes) -> Iterator[bytes]:
    return (digests[start : start + _DIGEST_BYTES] for start in range(0, len(digests), _DIGEST_BYTES))
