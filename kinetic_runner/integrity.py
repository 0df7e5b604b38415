"""Comparing bytes with what a store says of them. Drivers of fsspec mostly do not."""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kinetic_core.wire.transience import DamagedError

_HEX: Final = re.compile(r'"?([0-9a-f]{32})"?')


class Md5:
    """What a store tells of an object, against the bytes that came."""

    def __init__(self, told: Mapping[str, Any] | None) -> None:
        """Take note.

        Args:
            told: What the driver's `info` says.
        """
        self._size = (told or {}).get("size")
        self._digest = _digest(told or {})
        # MD5 is slow: only where it will be compared.
        self._sum = hashlib.md5(usedforsecurity=False) if self._digest else None
        self._received = 0

    def update(self, data: bytes) -> None:
        """Count bytes."""
        self._received += len(data)
        if self._sum is not None:
            self._sum.update(data)

    def compare(self) -> None:
        """Compare size and checksum, as far as the store tells them.

        Raises:
            DamagedError: They differ; another try may help.
        """
        if self._size is not None and self._size != self._received:
            raise DamagedError(f"{self._received} bytes instead of {self._size}")
        if self._sum is not None and self._sum.digest() != self._digest:
            raise DamagedError("the checksum is not the one that the store keeps")


def compare_file(path: Path, told: Mapping[str, Any]) -> None:
    """Compare a file with what a store says of its copy.

    Raises:
        DamagedError: They differ; another try may help.
    """
    check = Md5(told)
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            check.update(chunk)
    check.compare()


def _digest(told: Mapping[str, Any]) -> bytes | None:
    """Return the MD5 of Cloud Storage, of Azure, or of S3 where its tag is one.

    >>> _digest({"ETag": '"d41d8cd98f00b204e9800998ecf8427e"'}) == _digest({"md5Hash": "1B2M2Y8AsgTpgAmY7PhCfg=="})
    True
    >>> _digest({"ETag": '"0123-2"'}) is None
    True
    """
    stored = told.get("md5Hash") or getattr(told.get("content_settings"), "content_md5", None)
    if isinstance(stored, str):
        try:
            return base64.b64decode(stored, validate=True)
        except binascii.Error:
            return None
    if stored is not None:
        return bytes(stored)
    tag = _HEX.fullmatch(str(told.get("ETag", "")))
    # Under a key of the user's, S3's tag is something else.
    plain = told.get("ServerSideEncryption", "AES256") == "AES256" and not told.get("SSECustomerAlgorithm")
    return bytes.fromhex(tag[1]) if tag and plain else None
