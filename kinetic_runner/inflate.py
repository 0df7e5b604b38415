"""Unpacking deflate, by the fastest library of the image."""

import zlib
from importlib import import_module
from typing import Any, Final

_FASTER: Final = "isal.isal_zlib"
_WORTH_IMPORTING_BYTES: Final = 1 << 20


def unpacker(archive_bytes: int) -> Any:
    """Return a module with the interface of `zlib`: three times as fast, for an archive that repays its import.

    Args:
        archive_bytes: Size of the archive.

    >>> unpacker(100).__name__
    'zlib'
    """
    if archive_bytes < _WORTH_IMPORTING_BYTES:
        return zlib
    try:
        return import_module(_FASTER)
    except ImportError:
        return zlib
