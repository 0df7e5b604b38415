"""Comparing bytes with what a store says of them. Drivers of fsspec mostly do not."""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kinetic_core.wire.transience import DamagedError

_HEX: Final = re.compile(r'"?([0-9a-f]{32})"?')


class Check:
    """What a store tells of an object, against the bytes that came."""

    def __init__(self, told: Mapping[str, Any] | None) -> None:
        """Take note.

        Args:
            told: What the driver's `info` says.
        """
        self._size = (told or {}).get("size")
        self._sum, self._digest = _sum(told or {})
        self._received = 0

    @property
    def has_checksum(self) -> bool:
        """Tell whether there is more to compare than the size."""
        return self._digest is not None

    def update(self, data: bytes) -> None:
        """Count bytes."""
        self._received += len(data)
        if self._digest is not None:
            self._sum.update(data)

    def compare(self) -> None:
        """Compare size and checksum, as far as the store tells them.

        Raises:
            DamagedError: They differ; another try may help.
        """
        if self._size is not None and self._size != self._received:
            raise DamagedError(f"{self._received} bytes instead of {self._size}")
        if self._digest is not None and self._sum.digest() != self._digest:
            raise DamagedError("the checksum is not the one that the store keeps")


def compare_file(path: Path, told: Mapping[str, Any]) -> None:
    """Compare a file with what a store says of its copy.

    Raises:
        DamagedError: They differ; another try may help.
    """
    check = Check(told)
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            check.update(chunk)
    check.compare()


def _sum(told: Mapping[str, Any]) -> tuple[Any, bytes | None]:
    """Return how to sum, and what must come out; `None` where the store tells nothing of use."""
    if (found := told.get("crc32c")) is not None:
        # Sixteen times as fast as MD5, and all that Cloud Storage has of an object that was put together.
        with suppress(ImportError):
            import google_crc32c

            return google_crc32c.Checksum(), base64.b64decode(found)  # type: ignore[no-untyped-call]  # it has no types
    digest = _md5(told)
    return (None if digest is None else hashlib.md5(usedforsecurity=False)), digest


def _md5(told: Mapping[str, Any]) -> bytes | None:
    """Return the MD5 of Cloud Storage, of Azure, or of S3 where its tag is one.

    >>> _md5({"ETag": '"d41d8cd98f00b204e9800998ecf8427e"'}) == _md5({"md5Hash": "1B2M2Y8AsgTpgAmY7PhCfg=="})
    True
    >>> _md5({"ETag": '"0123-2"'}) is None
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
