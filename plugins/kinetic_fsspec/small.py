"""Many small files in one call on the loop: no thread, lock or hand-over for each, which cost more than a request."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import wait
from pathlib import Path
from typing import Final, TypeAlias

import attrs

from kinetic_core.errors import KineticError, StorageError
from kinetic_fsspec.bucket import LoopBucket
from kinetic_fsspec.loops import limited
from kinetic_fsspec.retries import Retries
from kinetic_fsspec.sources import AT_ONCE, expect_file
from kinetic_fsspec.tally import Tally

SMALL_BYTES: Final = 256 << 10
"""Reading more would keep others on the loop waiting for the disk."""
_AT_ONCE: Final = 8

File: TypeAlias = tuple[str, str, Path]
"""Its key, the object's name, and where it lies."""


def put_small(
    bucket: LoopBucket, retries: Retries, files: Iterable[File], *, url_of: Callable[[str], str], tally: Tally
) -> Collection[str]:
    """Store those files that are small; return the keys of the others.

    Args:
        bucket: Where to.
        retries: How often to try what failed once.
        files: The files, that nobody writes to meanwhile.
        url_of: Returns the URL of a key, for messages.
        tally: Told of each file that was sent.

    Raises:
        StorageError: A file cannot be read or stored; none is begun after that, and those begun are done.
    """
    batch = _Batch(bucket=bucket, retries=retries, url_of=url_of, tally=tally, waiting=iter(files))
    running = asyncio.run_coroutine_threadsafe(batch.put_all(), bucket.loop)
    try:
        running.result()
    except BaseException:
        # What is under way is waited for: it must not write behind the back of who takes it away again.
        batch.is_stopped = True
        wait([running])
        raise
    return batch.left


@attrs.define(kw_only=True)
class _Batch:
    bucket: LoopBucket
    retries: Retries
    url_of: Callable[[str], str]
    tally: Tally
    waiting: Iterator[File]
    left: list[str] = attrs.field(factory=list, init=False)
    is_stopped: bool = attrs.field(default=False, init=False)

    async def put_all(self) -> None:
        outcomes = await asyncio.gather(*(self._put_some() for _ in range(_AT_ONCE)), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _put_some(self) -> None:
        try:
            for key, name, path in self.waiting:
                data = _read(path)
                if data is None:
                    self.left.append(key)
                    continue
                await self._put(key, name, data)
                self.tally.add(len(data))
                if self.is_stopped:
                    return
        except BaseException:
            self.is_stopped = True
            raise

    async def _put(self, key: str, name: str, data: bytes) -> None:
        try:
            await limited(self.bucket.send(name, data), sent_bytes=len(data))
        except Exception as error:  # noqa: BLE001 - the policy for all requests decides
            failure = error
        else:
            return

        def put_again() -> None:
            self.retries("write", self.url_of(key), lambda _: self.bucket.put(name, data), failure=failure)

        # Pauses are slept through, so not on the loop.
        await asyncio.get_running_loop().run_in_executor(None, put_again)


def _read(path: Path) -> bytes | None:
    """Return what a small file holds."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | AT_ONCE)
        try:
            status = os.fstat(descriptor)
            expect_file(path, status)
            return os.read(descriptor, status.st_size) if status.st_size <= SMALL_BYTES else None
        finally:
            os.close(descriptor)
    except KineticError:
        raise
    except OSError as error:
        raise StorageError(f"cannot read the local file {path}: {error.strerror}") from error
