"""The content hash of `Data`: under it content lies in the cache, and by it the pod knows what came."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Final

# Change it with the format of what is hashed: an old hash must never name new content.
_FILE_MARKER: Final = b"kinetic data 1: file\0"
_DIRECTORY_MARKER: Final = b"kinetic data 1: directory\0"


def content_hash(rows: Iterable[tuple[str, bytes | None]], *, is_dir: bool) -> str:
    """Return 64 hexadecimal digits over kind, names and contents.

    Args:
        rows: Names, and the SHA-256 of each content; `None` for a directory that holds nothing. Sorted by the bytes
            of the names, which are relative; that of a single file is its own.
        is_dir: Whether it is a directory.

    >>> content_hash([("a.txt", bytes(32))], is_dir=False)[:8]
    '85099698'
    """
    total = hashlib.sha256(_DIRECTORY_MARKER if is_dir else _FILE_MARKER)
    total.update(b"".join(_framed(rows)))
    return total.hexdigest()


def _framed(rows: Iterable[tuple[str, bytes | None]]) -> Iterator[bytes]:
    """Yield names and contents; the content by its own digest, so that no two trees give the same bytes."""
    for text, digest in rows:
        name = os.fsencode(text)
        framed = len(name).to_bytes(8, "big") + name
        yield b"D" + framed if digest is None else b"F" + framed + digest
