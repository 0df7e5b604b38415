"""Checksums as the clouds write them."""

import base64
import hashlib
from typing import Any


def crc32c(data: bytes) -> str:
    """Return the CRC32C of the data in base64, big-endian, as Cloud Storage writes it."""
    return Crc32c(data).text()


class Crc32c:
    """A CRC32C that grows."""

    def __init__(self, data: bytes = b"") -> None:
        """Begin."""
        # Comes with gcsfs; sixteen times as fast as MD5.
        import google_crc32c

        self._sum: Any = google_crc32c.Checksum(data)  # type: ignore[no-untyped-call]  # it publishes no types

    def update(self, data: bytes) -> None:
        """Add bytes."""
        self._sum.update(data)

    def text(self) -> str:
        """Return the sum so far."""
        return base64.b64encode(self._sum.digest()).decode("ascii")


def md5(data: bytes) -> bytes:
    """Return the MD5 of the data: not against malice, but what S3 and Azure compare.

    >>> md5(b"").hex()
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    return hashlib.md5(data, usedforsecurity=False).digest()
