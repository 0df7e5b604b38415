"""Small files, read and packed in one loop: the hot one of a first packaging, on plain values.

It imports little, for the second process (see `streams`).
"""

from __future__ import annotations

import os
from struct import Struct

from kinetic_core.model.listing import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Final

    from kinetic_core.model.listing import Listed

    Packed = tuple[bytes, bytes, list[int]]
    """Entries one behind the other, what their two headers have in common, and where they start."""
    Failed = tuple[int, str, str]
    """Number, text and path of the error that kept a file from being read."""
    Plain = Packed | Failed | None
    """`None` is a file that changed."""

# Without O_NONBLOCK, opening a FIFO that took a file's place would hang.
FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
COMMON: Final = Struct("<HHHHHIIIHH")
"""What both headers of an entry hold, in the same order: version, flags, method, time, date, CRC, sizes, lengths."""
STORED: Final = 0
DEFLATED: Final = 8
PLAIN_VERSION: Final = 20
UTF8_NAME: Final = 0x800
LOCAL: Final = b"PK\3\4"
_LEAST_BYTES: Final = 64
_SECOND: Final = 10**9


def pack(
    base: str,
    compress: Callable[[bytes], bytes],
    crc32: Callable[[bytes, int], int],
    moments: Mapping[int, tuple[int, int]],
    rows: Iterable[Listed],
) -> list[Plain]:
    """Read and pack small files and empty directories.

    Each file is looked at once more when it has been read: only what is as listed is packed.

    Args:
        base: What to put before a name to have its path.
        compress: Makes one whole stream.
        crc32: As in `zlib`.
        moments: Second by second, as an archive keeps them.
        rows: Sorted by name.
    """
    rows = tuple(rows)
    # To take turns costs a twelfth more: reading and compressing drive each other out of the processor's memory.
    outcomes = [_content(base, row) for row in rows]
    bodies = [_body(outcome, compress) if isinstance(outcome, bytes) else b"" for outcome in outcomes]
    pieces: list[Plain] = []
    parts: list[bytes] = []
    common: list[bytes] = []
    starts: list[int] = []
    position = 0
    for row, outcome, body in zip(rows, outcomes, bodies, strict=True):
        if isinstance(outcome, bytes):
            name = row[0].encode()
            header = _common(name, outcome, body, moments[row[2] // _SECOND], crc32)
            parts += (LOCAL, header, name, body)
            common.append(header)
            starts.append(position)
            position += 30 + len(name) + len(body)
            continue
        if parts:
            pieces.append((b"".join(parts), b"".join(common), starts))
            parts, common, starts, position = [], [], [], 0
        pieces.append(outcome)
    if parts:
        pieces.append((b"".join(parts), b"".join(common), starts))
    return pieces


def entry(
    name: bytes,
    data: bytes,
    moment: tuple[int, int],
    compress: Callable[[bytes], bytes],
    crc32: Callable[[bytes, int], int],
) -> tuple[bytes, bytes]:
    """Return a small file's content as it is stored, and what its two headers have in common."""
    body = _body(data, compress)
    return body, _common(name, data, body, moment, crc32)


def _body(data: bytes, compress: Callable[[bytes], bytes]) -> bytes:
    """Return content as it is stored: compressed where that makes it shorter."""
    if len(data) < _LEAST_BYTES:
        return data
    compressed = compress(data)
    return compressed if len(compressed) < len(data) else data


def _common(
    name: bytes, data: bytes, body: bytes, moment: tuple[int, int], crc32: Callable[[bytes, int], int]
) -> bytes:
    method = STORED if len(body) == len(data) else DEFLATED
    date, clock = moment
    return COMMON.pack(
        PLAIN_VERSION, UTF8_NAME, method, clock, date, crc32(data, 0), len(body), len(data), len(name), 0
    )  # fmt: skip


def _content(base: str, row: Listed) -> bytes | Failed | None:
    name, status, mtime_ns, ctime_ns = row
    if name[-1] == "/":
        return b""
    size = status[6]
    try:
        descriptor = os.open(path_of(base, name), FLAGS)
        try:
            data = os.read(descriptor, size + 1)
            now = os.fstat(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        return error.errno or 0, error.strerror or str(error), str(error.filename or "")
    is_as_listed = (
        len(data) == size and now[:7] == status and now.st_mtime_ns == mtime_ns and now.st_ctime_ns == ctime_ns
    )
    return data if is_as_listed else None
