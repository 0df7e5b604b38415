"""Compression: raw deflate by the fastest library that is installed, and none where it does not pay."""

import importlib
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, Final, NamedTuple

_LEAST_BYTES: Final = 64
_PROBE_BYTES: Final = 64 << 10
_WORTH_IT: Final = 0.95
_ONCE_BEFORE: Final = b"\xff"
"""What a primed stream takes for the byte before its data. Data that hold it are not compressed so: what is not in
them, nothing in them can refer back to. No text in UTF-8 holds this one."""
END_OF_BLOCKS: Final = b"\x03\x00"
"""An empty last block: what closes a stream of blocks, each of which leaves it open."""


class Library(NamedTuple):
    """A library with the interface of `zlib`."""

    module: str
    level: int
    """The fastest that gives the same bytes in every process and stays near zlib's level 6 in size, on source code:
    within a fifth."""
    told_by: str
    """The module that tells the version of the C library."""
    version: str
    """The attribute that does."""
    primed_level: int = 0
    """The same of a stream that was told a byte before its data; 0 where that gains nothing.

    ISA-L's levels 1 and 2 file the third byte of a stream's data under the stream's address in memory, and so find
    other things to refer to in other processes. A stream with a dictionary does not come there.
    """


LIBRARIES: Final = (
    Library("isal.isal_zlib", 3, "isal", "ISAL_VERSION", primed_level=1),
    Library("zlib_ng.zlib_ng", 2, "zlib_ng.zlib_ng", "ZLIBNG_RUNTIME_VERSION"),
    Library("zlib", 1, "zlib", "ZLIB_RUNTIME_VERSION"),
)
"""The fastest first."""


class Codec(NamedTuple):
    """One way to compress; the same codec gives the same bytes for the same data, in any thread."""

    name: str
    """Library, version and level: what bytes depend on."""
    compress: Callable[[bytes], bytes]
    """Make one whole stream of raw deflate."""
    compress_block: Callable[[bytes], bytes]
    """Make a part of a stream that ends at a byte and that nothing later refers to."""
    crc32: Callable[[bytes, int], int]

    def deflated(self, data: bytes) -> bytes | None:
        """Return the data compressed, or `None` when it does not shrink.

        >>> codec = find_codec()
        >>> codec.deflated(b"") is None, codec.deflated(b"x" * 100) is None
        (True, False)
        """
        if len(data) < _LEAST_BYTES:
            return None
        body = self.compress(data)
        return body if len(body) < len(data) else None

    def is_compressible(self, head: bytes) -> bool:
        """Judge a long file by its head: weights and images are stored rather than deflated for nothing.

        >>> find_codec().is_compressible(b"x" * 100_000)
        True
        """
        probe = head[:_PROBE_BYTES]
        return len(self.compress(probe)) < _WORTH_IT * len(probe)


def find_codec(libraries: Iterable[Library] = LIBRARIES) -> Codec:
    """Return the codec of the first library that is installed.

    Args:
        libraries: In order of preference; the last one is always there.

    >>> find_codec([Library("no_such_library", 1, "", ""), LIBRARIES[-1]]).name.partition(" ")[0]
    'zlib'
    """
    *preferred, last = libraries
    for library in preferred:
        try:
            return _codec(importlib.import_module(library.module), library)
        except ImportError:
            continue
    return _codec(importlib.import_module(last.module), last)


def _codec(module: ModuleType, library: Library) -> Codec:
    version = getattr(importlib.import_module(library.told_by), library.version)
    levels = f"{library.primed_level} or {library.level}" if library.primed_level else str(library.level)
    return Codec(
        name=f"{library.module} {version} level {levels}",
        compress=partial(_stream, module, library),
        compress_block=partial(_block, module, library),
        crc32=module.crc32,
    )


def _stream(module: ModuleType, library: Library, data: bytes) -> bytes:
    # Not the module's `compress`: isal's takes no dictionary.
    stream = _compressor(module, library, data)
    compressed: bytes = stream.compress(data) + stream.flush()
    return compressed


def _block(module: ModuleType, library: Library, data: bytes) -> bytes:
    stream = _compressor(module, library, data)
    compressed: bytes = stream.compress(data) + stream.flush(zlib.Z_FULL_FLUSH)
    return compressed


def _compressor(module: ModuleType, library: Library, data: bytes) -> Any:
    if library.primed_level and _ONCE_BEFORE not in data:
        return module.compressobj(library.primed_level, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=_ONCE_BEFORE)
    return module.compressobj(library.level, zlib.DEFLATED, -zlib.MAX_WBITS)
