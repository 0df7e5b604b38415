"""Raw deflate by a library with the interface of `zlib`, as plain functions.

The second process that packs imports this module, `smallfiles` and `packserver` alone, and is ready in less than half
the time for what they leave out: `typing` by itself takes longer to import than all else.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

ONCE_BEFORE: Final = b"\xff"
"""What a primed stream takes for the byte before its data. Data that hold it are not compressed so: what is not in
them, nothing in them can refer back to. No text in UTF-8 holds this one."""
# As in `zlib`, which need not be there for them.
_DEFLATED: Final = 8
_RAW: Final = -15
_MEMORY: Final = 8
_STRATEGY: Final = 0


def module_named(name: str) -> Any:
    """Import a module by its whole name.

    Raises:
        ImportError: It is not installed.
    """
    __import__(name)
    return sys.modules[name]


def described(module: str, level: int, told_by: str, version: str, primed_level: int) -> str:
    """Name what the bytes of streams depend on: library, version and level.

    Args:
        module: To compress with.
        level: Of ordinary streams.
        told_by: The module that tells the version of the C library.
        version: The attribute that does.
        primed_level: Of streams that are told a byte before their data; 0 for none.

    Raises:
        ImportError: It is not installed.

    >>> described("zlib", 1, "zlib", "DEFLATED", 0)
    'zlib 8 level 1'
    """
    levels = f"{primed_level} or {level}" if primed_level else str(level)
    return f"{module} {getattr(module_named(told_by), version)} level {levels}"


def compressor_of(module: str, level: int, primed_level: int) -> Callable[[bytes], Any]:
    """Return what makes the compressor of a stream, given all data of it.

    Raises:
        ImportError: The module is not installed.
    """
    create = module_named(module).compressobj

    def plain(_: bytes) -> Any:
        return create(level, _DEFLATED, _RAW)

    def primed(data: bytes) -> Any:
        if ONCE_BEFORE in data:
            return create(level, _DEFLATED, _RAW)
        return create(primed_level, _DEFLATED, _RAW, _MEMORY, _STRATEGY, ONCE_BEFORE)

    return primed if primed_level else plain


def whole_stream(compressor: Callable[[bytes], Any]) -> Callable[[bytes], bytes]:
    """Return what makes one whole stream.

    >>> import zlib
    >>> compress = whole_stream(compressor_of("zlib", 1, 0))
    >>> zlib.decompress(compress(b"abc"), wbits=-15)
    b'abc'
    """

    # Not the module's `compress`: isal's takes no dictionary.
    def compress(data: bytes) -> bytes:
        stream = compressor(data)
        compressed: bytes = stream.compress(data) + stream.flush()
        return compressed

    return compress
