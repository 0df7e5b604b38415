"""Azure Blob Storage. Client and credentials are adlfs's, the requests our own: one each, exact, checked.

adlfs takes names for URLs, so `a?b` and `a#b` would be others; it compares no checksum, and its client tries again
on its own.
"""

import asyncio
import base64
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob import BlobBlock, ContentSettings

from kinetic_core.plugin import StoredObject
from kinetic_core.wire.transience import DamagedError
from kinetic_fsspec.bucket import WRITER, LostPartsError, Sink, TakenError
from kinetic_fsspec.checksums import md5
from kinetic_fsspec.loops import CONNECTING_S, STALLED_S, run

_ONE_TRY: Final = {"retry_total": 0, "connection_timeout": CONNECTING_S, "read_timeout": STALLED_S}
_TYPE: Final = "application/octet-stream"


class AzureBucket:
    """A container of Azure Blob Storage, or a folder in one."""

    def __init__(self, system: Any, root: str) -> None:
        """Open it.

        Args:
            system: adlfs's file system.
            root: Container and folder.
        """
        self._system = system
        self._container, _, folder = root.partition("/")
        self._folder = f"{folder}/" if folder else ""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that requests run on."""
        loop: asyncio.AbstractEventLoop = self._system.loop
        return loop

    def put(self, name: str, data: bytes, *, writer: str | None = None, only_new: bool = False) -> None:
        """Store the bytes at once."""
        run(self.loop, self.send(name, data, writer=writer, only_new=only_new), sent_bytes=len(data))

    async def send(self, name: str, data: bytes, *, writer: str | None = None, only_new: bool = False) -> None:
        """Store the bytes at once, on the loop."""
        digest = md5(data)
        async with self.client(name) as blob:
            with _told():
                try:
                    stored = await blob.upload_blob(
                        data,
                        length=len(data),
                        overwrite=not only_new,
                        metadata=None if writer is None else {WRITER: writer},
                        content_settings=_settings(digest),
                        validate_content=True,
                        **_ONE_TRY,
                    )
                except ResourceExistsError as error:
                    raise TakenError(name) from error
        compare(stored.get("content_md5"), digest)

    def writer_of(self, name: str) -> str | None:
        """Return the label of an object."""
        label: str | None = run(self.loop, self._properties(name)).metadata.get(WRITER)
        return label

    def upload(self, name: str) -> "_Blocks":
        """Begin an object that is too large for one request."""
        return _Blocks(self, name)

    def get(self, name: str, sink: Sink) -> None:
        """Write the object's bytes to the sink."""
        run(self.loop, self._get(name, sink))

    def holds(self, name: str) -> bool:
        """Tell whether an object has this name."""
        try:
            found = run(self.loop, self._properties(name))
        except FileNotFoundError:
            return False
        return not _is_folder(found)

    def page(self, prefix: str, mark: str) -> tuple[list[StoredObject], str]:
        """Return objects whose names start with the prefix, and where the next page begins."""
        return run(self.loop, self._page(self._folder + prefix, mark))

    def delete(self, names: Sequence[str]) -> None:
        """Delete the objects one after another; absence is no error."""
        for name in names:
            run(self.loop, self._delete(name))

    def client(self, name: str) -> Any:
        """Return the client of one blob."""
        return self._system.service_client.get_blob_client(self._container, self._folder + name)

    async def _properties(self, name: str) -> Any:
        async with self.client(name) as blob:
            with _told():
                return await blob.get_blob_properties(**_ONE_TRY)

    async def _get(self, name: str, sink: Sink) -> None:
        async with self.client(name) as blob:
            with _told():
                stream = await blob.download_blob(max_concurrency=1, **_ONE_TRY)
            if _is_folder(stream.properties):
                raise FileNotFoundError(name)
            total, received = hashlib.md5(usedforsecurity=False), 0
            try:
                async for chunk in stream.chunks():
                    total.update(chunk)
                    received += len(chunk)
                    sink.write(chunk)
            except (ResourceModifiedError, ResourceNotFoundError) as error:
                raise DamagedError("the object was replaced while it was read") from error
        if received != stream.size:
            raise DamagedError(f"{received} of {stream.size} bytes arrived")
        compare(stream.properties.content_settings.content_md5, total.digest())

    async def _page(self, prefix: str, mark: str) -> tuple[list[StoredObject], str]:
        async with self._system.service_client.get_container_client(self._container) as container:
            # Where folders are objects of their own, they are marked.
            pages = container.list_blobs(name_starts_with=prefix, include=["metadata"], **_ONE_TRY).by_page(
                mark or None
            )
            with _told():
                found = [item async for item in await anext(pages)]
        objects = [
            StoredObject(
                key=item.name.removeprefix(self._folder) + "/" * _is_folder(item),
                size_bytes=item.size,
                modified_s=item.last_modified.timestamp(),
            )
            for item in found
        ]
        return objects, pages.continuation_token or ""

    async def _delete(self, name: str) -> None:
        async with self.client(name.rstrip("/")) as blob:
            with suppress(ResourceNotFoundError):
                await blob.delete_blob(delete_snapshots="include", **_ONE_TRY)


class _Blocks:
    """A blob that is committed as a list of blocks; those that are not committed, Azure drops after a week."""

    def __init__(self, bucket: AzureBucket, name: str) -> None:
        self._bucket = bucket
        self._name = name
        # Uploads of the same blob share one folder of blocks.
        self._token = os.urandom(12).hex()

    def send(self, number: int, data: bytes) -> str:
        return run(self._bucket.loop, self._send(number, data), sent_bytes=len(data))

    def finish(self, receipts: Sequence[Any]) -> None:
        run(self._bucket.loop, self._finish(receipts))

    def discard(self) -> None: ...

    async def _send(self, number: int, data: bytes) -> str:
        name = base64.b64encode(f"{self._token}-{number:08}".encode("ascii")).decode("ascii")
        async with self._bucket.client(self._name) as blob:
            with _told():
                stored = await blob.stage_block(name, data, length=len(data), validate_content=True, **_ONE_TRY)
        compare(stored.get("content_md5"), md5(data))
        return name

    async def _finish(self, receipts: Sequence[Any]) -> None:
        blocks = [BlobBlock(name) for name in receipts]
        async with self._bucket.client(self._name) as blob:
            try:
                await blob.commit_block_list(blocks, content_settings=_settings(None), **_ONE_TRY)
            except HttpResponseError as error:
                if getattr(error, "error_code", None) == "InvalidBlockList":
                    raise LostPartsError(self._name) from error
                raise


@contextmanager
def _told() -> Iterator[None]:
    """Tell an absence, and a body that was altered on its way, from other refusals."""
    try:
        yield
    except ResourceNotFoundError as error:
        raise FileNotFoundError(str(error)) from error
    except HttpResponseError as error:
        if "md5" in str(error).lower():
            raise DamagedError(str(error)) from error
        raise


def compare(theirs: bytes | None, ours: bytes) -> None:
    """Compare checksums where the store has one.

    Raises:
        DamagedError: They differ.
    """
    if theirs is not None and bytes(theirs) != ours:
        raise DamagedError(f"the checksum is {bytes(theirs).hex()}, not {ours.hex()}")


def _settings(digest: bytes | None) -> ContentSettings:
    return ContentSettings(content_type=_TYPE, content_md5=None if digest is None else bytearray(digest))


def _is_folder(found: Any) -> bool:
    return (found.metadata or {}).get("hdi_isfolder") == "true"
