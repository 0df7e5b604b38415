"""Plain values in a file that anything may happen to: under a checksum, or not believed."""

import marshal
import zlib
from collections.abc import Callable
from typing import Any, Final

_MARSHAL: Final = 2
_CHECKSUM_BYTES: Final = 4


def sealed(magic: bytes, fields: tuple[Any, ...], *, crc32: Callable[[Any, int], int] = zlib.crc32) -> bytes:
    """Return plain values as bytes, under a checksum.

    Args:
        magic: Says what they are, and in which version.
        fields: Numbers, text, bytes, and tuples of these.
        crc32: As in `zlib`; some are many times faster.

    >>> unsealed(b"example 1", sealed(b"example 1", (1, "a")))
    (1, 'a')
    """
    content = marshal.dumps(fields, _MARSHAL)
    return b"".join((magic, crc32(content, 0).to_bytes(_CHECKSUM_BYTES, "little"), content))


def unsealed(
    magic: bytes, data: bytes | memoryview, *, crc32: Callable[[Any, int], int] = zlib.crc32
) -> tuple[Any, ...] | None:
    """Return what `sealed` was given; `None` when it is damaged or something else.

    >>> unsealed(b"example 1", b"") is None
    True
    """
    start = len(magic) + _CHECKSUM_BYTES
    content = memoryview(data)[start:]
    checksum = int.from_bytes(data[len(magic) : start], "little")
    # The checksum of nothing is that of no bytes at all.
    if not content or data[: len(magic)] != magic or crc32(content, 0) != checksum:
        return None
    fields: tuple[Any, ...] = marshal.loads(content)  # noqa: S302  checked above
    return fields
