"""Files too large for one request: sent in parts side by side, each tried again by itself."""

import errno
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

from kinetic_core.errors import StorageError
from kinetic_core.model.threads import Threads
from kinetic_fsspec.bucket import Bucket, LostPartsError, Upload
from kinetic_fsspec.retries import Retries
from kinetic_fsspec.tally import Tally

if TYPE_CHECKING:
    from concurrent.futures import Future

PART_BYTES: Final = 16 << 20
"""Larger ones cost memory and processor time, smaller ones requests."""
_MOST_PARTS: Final = 9_000
"""S3 takes 10,000."""
_AT_ONCE: Final = 4
_TRIES: Final = 3


def upload_in_parts(
    bucket: Bucket, retries: Retries, source: BinaryIO, *, size_bytes: int, name: str, where: str, tally: Tally
) -> None:
    """Store a file in parts; on failure nothing of it is left, as far as the store still answers.

    Args:
        bucket: Where to.
        retries: How often to try.
        source: An open file, that nobody writes to meanwhile.
        size_bytes: Of the file.
        name: Of the object.
        where: URL of the object, for messages.
        tally: Told of each part that was sent.

    Raises:
        OSError: The file became shorter.
        StorageError: A part cannot be stored, or parts keep going away.
    """
    for _ in range(_TRIES):
        with suppress(LostPartsError):
            upload = retries("write", where, lambda _: bucket.upload(name))
            _upload(upload, retries, _parts(source, size_bytes), where, tally)
            return
        tally.start_over()
    raise StorageError(f"cannot write {where}: its parts went away {_TRIES} times before they were put together")


def _upload(upload: Upload, retries: Retries, parts: Iterator[bytes], where: str, tally: Tally) -> None:
    try:
        receipts = _send_all(upload, retries, parts, where, tally)
        retries("write", where, lambda _: upload.finish(receipts))
    finally:
        with suppress(Exception):
            upload.discard()


def _parts(source: BinaryIO, size_bytes: int) -> Iterator[bytes]:
    part_bytes = max(PART_BYTES, -(-size_bytes // _MOST_PARTS))
    for start in range(0, size_bytes, part_bytes):
        source.seek(start)
        wanted = min(part_bytes, size_bytes - start)
        data = source.read(wanted)
        if len(data) < wanted:
            raise OSError(errno.EIO, "it became shorter while it was sent")
        yield data


def _send_all(upload: Upload, retries: Retries, parts: Iterator[bytes], where: str, tally: Tally) -> list[object]:
    receipts: list[object] = []
    flying: deque[Future[object]] = deque()
    with Threads(_AT_ONCE, thread_name_prefix="kinetic-upload") as pool:
        try:
            for number, data in enumerate(parts):
                if len(flying) == _AT_ONCE:
                    receipts.append(flying.popleft().result())
                flying.append(pool.submit(retries, "write", where, partial(_send, upload, tally, number, data)))
            receipts.extend(future.result() for future in flying)
        finally:
            for future in flying:
                future.cancel()
    return receipts


def _send(upload: Upload, tally: Tally, number: int, data: bytes, _attempt: int) -> object:
    receipt = upload.send(number, data)
    tally.add(len(data))
    return receipt
