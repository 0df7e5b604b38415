"""Plain values in a file that anything may happen to: under a checksum, or not believed."""

import marshal
import zlib
from typing import Any, Final

_MARSHAL: Final = 2
_CHECKSUM_BYTES: Final = 4


def sealed(magic: bytes, fields: tuple[Any, ...]) -> bytes:
    """Return plain values as bytes, under a checksum.

    Args:
        magic: Says what they are, and in which version.
        fields: Numbers, text, bytes, and tuples of these.

    >>> unsealed(b"example 1", sealed(b"example 1", (1, "a")))
    (1, 'a')
    """
    content = marshal.dumps(fields, _MARSHAL)
    return b"".join((magic, zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "little"), content))


def unsealed(magic: bytes, data: bytes | memoryview) -> tuple[Any, ...] | None:
    """Return what `sealed` was given; `None` when it is damaged or something else.

    >>> unsealed(b"example 1", b"") is None
    True
    """
    start = len(magic) + _CHECKSUM_BYTES
    content = memoryview(data)[start:]
    checksum = int.from_bytes(data[len(magic) : start], "little")
    # The checksum of nothing is that of no bytes at all.
    if not content or data[: len(magic)] != magic or zlib.crc32(content) != checksum:
        return None
    fields: tuple[Any, ...] = marshal.loads(content)  # noqa: S302  checked above
    return fields
