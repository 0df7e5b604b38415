"""Compression: raw deflate at the fastest level, and none where it does not pay."""

import zlib
from typing import Final, Protocol

_LEVEL: Final = 1
_LEAST_BYTES: Final = 64
_PROBE_BYTES: Final = 64 << 10
_WORTH_IT: Final = 0.95


class Deflater(Protocol):
    """Compresses a stream, a piece at a time."""

    def compress(self, data: bytes, /) -> bytes:
        """Take a piece, and return what is ready."""

    def flush(self) -> bytes:
        """Return the rest."""


def deflater() -> Deflater:
    """Return a compressor for one stream of raw deflate.

    >>> stream = deflater()
    >>> zlib.decompress(stream.compress(b"x" * 100) + stream.flush(), wbits=-15) == b"x" * 100
    True
    """
    return zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)


def deflated(data: bytes) -> bytes | None:
    """Return the data compressed, or `None` when it does not shrink.

    >>> deflated(b"") is None, deflated(b"x" * 100) is None
    (True, False)
    """
    if len(data) < _LEAST_BYTES:
        return None
    body = zlib.compress(data, _LEVEL, wbits=-zlib.MAX_WBITS)
    return body if len(body) < len(data) else None


def is_compressible(head: bytes) -> bool:
    """Judge a long file by its head: weights and images are stored rather than deflated for nothing.

    >>> is_compressible(b"x" * 100_000)
    True
    """
    probe = head[:_PROBE_BYTES]
    return len(zlib.compress(probe, _LEVEL, wbits=-zlib.MAX_WBITS)) < _WORTH_IT * len(probe)
