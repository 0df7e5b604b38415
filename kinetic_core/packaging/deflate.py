"""Compression: raw deflate by the fastest library that is installed, and none where it does not pay."""

import zlib
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from kinetic_core.packaging.streams import compressor_of, described, module_named, whole_stream

_PROBE_BYTES: Final = 64 << 10
_WORTH_IT: Final = 0.95
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
    library: Library

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
            return _codec(library)
        except ImportError:
            continue
    return _codec(last)


def _codec(library: Library) -> Codec:
    compressor = compressor_of(library.module, library.level, library.primed_level)

    def compress_block(data: bytes) -> bytes:
        stream = compressor(data)
        compressed: bytes = stream.compress(data) + stream.flush(zlib.Z_FULL_FLUSH)
        return compressed

    return Codec(
        name=described(*library),
        compress=whole_stream(compressor),
        compress_block=compress_block,
        crc32=module_named(library.module).crc32,
        library=library,
    )
