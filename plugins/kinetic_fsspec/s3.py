"""S3 and what speaks like it. Client and credentials are s3fs's, the requests our own: one each, exact, checked."""

import asyncio
import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from io import BytesIO
from typing import Any, BinaryIO, Final

from botocore.exceptions import ClientError

from kinetic_core.model.threads import Threads
from kinetic_core.plugin import StoredObject
from kinetic_core.wire.transience import DamagedError
from kinetic_fsspec.bodies import Body
from kinetic_fsspec.bucket import WRITER, LostPartsError, Sink, TakenError
from kinetic_fsspec.checksums import crc32_of_file, md5, md5_of_file
from kinetic_fsspec.loops import StallLimit, run
from kinetic_fsspec.tally import Tally

_CHUNK_BYTES: Final = 1 << 20
_MOST_DELETED: Final = 1000
_MD5: Final = re.compile(r'"([0-9a-f]{32})"')


class S3Bucket:
    """A bucket of S3, or a folder in one."""

    def __init__(self, system: Any, root: str) -> None:
        """Open it.

        Args:
            system: s3fs's file system.
            root: Bucket and folder.
        """
        self._system = system
        self._bucket, folder, _ = system.split_path(root)
        self._folder = f"{folder.rstrip('/')}/" if folder else ""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that requests run on."""
        loop: asyncio.AbstractEventLoop = self._system.loop
        return loop

    def put(self, name: str, data: bytes, *, writer: str | None = None, only_new: bool = False) -> None:
        """Store the bytes at once."""
        told: dict[str, Any] = {} if writer is None else {"Metadata": {WRITER: writer}}
        if only_new:
            told["IfNoneMatch"] = "*"
        try:
            run(self.loop, self.send(name, data, **told), sent_bytes=len(data))
        except ClientError as error:
            if only_new and _status(error) == 412:  # noqa: PLR2004 - precondition failed
                raise TakenError(name) from error
            raise

    async def send(self, name: str, data: bytes, **told: Any) -> None:
        """Store the bytes at once, on the loop."""
        digest = md5(data)
        # Of `bytes` the client makes a file, and before it sends a file it asks whether it may: a round trip more.
        body = bytearray(data) if len(data) < _CHUNK_BYTES else Body(BytesIO(data), len(data))
        options = {"Key": self._folder + name, "Body": body, "ContentMD5": _base64(digest), **told}
        _compare(await self._request("put_object", options), digest)

    def stream(self, name: str, source: BinaryIO, size_bytes: int, tally: Tally) -> None:
        """Store a file in one request, which reads it while it is sent."""
        # Compared before the object appears; the MD5 is ready when all was sent, and costs ten times as much.
        takes_crc32 = run(self.loop, self._takes_crc32())
        told: dict[str, Any] = {"Key": self._folder + name}
        if takes_crc32:
            told |= {"ChecksumAlgorithm": "CRC32", "ChecksumCRC32": crc32_of_file(source)}
        else:
            told["ContentMD5"] = _base64(md5_of_file(source))
        with Threads(1, thread_name_prefix="kinetic-md5") as beside:
            run(self.loop, self._stream(source, size_bytes, told, beside, tally))

    def writer_of(self, name: str) -> str | None:
        """Return the label of an object."""
        label: str | None = self._call("head_object", name)["Metadata"].get(WRITER)
        return label

    def upload(self, name: str) -> "_Multipart":
        """Begin an object that is too large for one request."""
        return _Multipart(self, name, self._call("create_multipart_upload", name)["UploadId"])

    def get(self, name: str, sink: Sink) -> None:
        """Write the object's bytes to the sink; the client compares the checksum that the store keeps."""
        run(self.loop, self._get(name, sink))

    def holds(self, name: str) -> bool:
        """Tell whether an object has this name."""
        try:
            self._call("head_object", name)
        except FileNotFoundError:
            return False
        return True

    def page(self, prefix: str, mark: str) -> tuple[list[StoredObject], str]:
        """Return objects whose names start with the prefix, and where the next page begins."""
        onwards: dict[str, Any] = {"ContinuationToken": mark} if mark else {}
        found = self._call("list_objects_v2", None, Prefix=self._folder + prefix, **onwards)
        objects = [
            StoredObject(
                key=item["Key"].removeprefix(self._folder),
                size_bytes=item["Size"],
                modified_s=item["LastModified"].timestamp(),
            )
            for item in found.get("Contents", ())
        ]
        return objects, found.get("NextContinuationToken", "")

    def delete(self, names: Sequence[str]) -> None:
        """Delete the objects; absence is no error."""
        for start in range(0, len(names), _MOST_DELETED):
            wanted = [{"Key": self._folder + name} for name in names[start : start + _MOST_DELETED]]
            answer = self._call("delete_objects", None, Delete={"Objects": wanted, "Quiet": True})
            for refused in answer.get("Errors", ()):
                raise _as_error(refused)

    def _call(self, operation: str, name: str | None, *, sent_bytes: int = 0, **options: Any) -> dict[str, Any]:
        if name is not None:
            options["Key"] = self._folder + name
        return run(self.loop, self._request(operation, options), sent_bytes=sent_bytes)

    async def _request(self, operation: str, options: Mapping[str, Any]) -> dict[str, Any]:
        method: Callable[..., Awaitable[dict[str, Any]]] = getattr(await self._client(), operation)
        # What the user wants of each request is added, such as encryption.
        told = self._system._get_s3_method_kwargs(method, Bucket=self._bucket, **options)  # noqa: SLF001 - s3fs has no public name for it
        try:
            return await method(**told)
        except ClientError as error:
            if _status(error) == 404:  # noqa: PLR2004 - absent
                raise FileNotFoundError(str(error)) from error
            raise

    async def _client(self) -> Any:
        await self._system.set_session()
        return await self._system.get_s3(self._bucket)

    async def _takes_crc32(self) -> bool:
        """Tell whether the store knows CRC32: users say so of those that do not."""
        config = (await self._client()).meta.config
        return bool(config.request_checksum_calculation == "when_supported")

    async def _stream(
        self, source: BinaryIO, size_bytes: int, told: Mapping[str, Any], beside: Executor, tally: Tally
    ) -> None:
        stall, total = StallLimit(), hashlib.md5(usedforsecurity=False)
        hashing: Awaitable[None] | None = None

        async def taken(piece: bytes) -> None:
            nonlocal hashing
            stall.begin_anew(len(piece))
            tally.add(len(piece))
            if hashing is not None:
                await hashing
            hashing = asyncio.get_running_loop().run_in_executor(beside, total.update, piece)

        async with stall.limit:
            stored = await self._request("put_object", {"Body": Body(source, size_bytes, taken), **told})
        if hashing is not None:
            await hashing
        _compare(stored, total.digest())

    async def _get(self, name: str, sink: Sink) -> None:
        reply = await self._request("get_object", {"Key": self._folder + name, "ChecksumMode": "ENABLED"})
        received = 0
        async with reply["Body"] as body:
            while chunk := await body.read(_CHUNK_BYTES):
                received += len(chunk)
                sink.write(chunk)
        if received != reply["ContentLength"]:
            raise DamagedError(f"{received} of {reply['ContentLength']} bytes arrived")


class _Multipart:
    """A multipart upload."""

    def __init__(self, bucket: S3Bucket, name: str, upload_id: str) -> None:
        self._bucket = bucket
        self._name = name
        self._id = upload_id
        self._finished = False

    def send(self, number: int, data: bytes) -> dict[str, Any]:
        digest = md5(data)
        part = {"PartNumber": number + 1, "Body": Body(BytesIO(data), len(data)), "ContentMD5": _base64(digest)}
        stored = self._call("upload_part", sent_bytes=len(data), **part)
        _compare(stored, digest)
        sums = {name: value for name, value in stored.items() if name.startswith("Checksum") and name != "ChecksumType"}
        return {"PartNumber": number + 1, "ETag": stored["ETag"], **sums}

    def finish(self, receipts: Sequence[Any]) -> None:
        try:
            self._call("complete_multipart_upload", MultipartUpload={"Parts": list(receipts)})
        except FileNotFoundError as error:
            # The answer of an earlier try may have been lost; then the object is made of exactly these parts.
            if not self._is_there(receipts):
                raise LostPartsError(self._name) from error
        self._finished = True

    def discard(self) -> None:
        if not self._finished:
            self._call("abort_multipart_upload")

    def _is_there(self, receipts: Sequence[Any]) -> bool:
        try:
            found = self._bucket._call("head_object", self._name)  # noqa: SLF001 - one is useless without the other
            digests = [bytes.fromhex(one["ETag"].strip('"')) for one in receipts]
        except (FileNotFoundError, ValueError):
            return False
        return bool(found["ETag"].strip('"') == f"{md5(b''.join(digests)).hex()}-{len(digests)}")

    def _call(self, operation: str, **options: Any) -> dict[str, Any]:
        return self._bucket._call(operation, self._name, UploadId=self._id, **options)  # noqa: SLF001 - one is useless without the other


def _compare(stored: Mapping[str, Any], digest: bytes) -> None:
    """Compare with what the store says that it received, where that is an MD5: not under a key of the user's."""
    found = _MD5.fullmatch(stored.get("ETag", ""))
    own_key = stored.get("SSECustomerAlgorithm") or stored.get("ServerSideEncryption", "AES256") != "AES256"
    if found is not None and not own_key and found[1] != digest.hex():
        raise DamagedError(f"the checksum is {found[1]}, not {digest.hex()}")


def _status(error: ClientError) -> int:
    status: int = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status


def _as_error(refused: Mapping[str, Any]) -> ClientError:
    """Return the error that a request for this object alone would have raised."""
    code = refused.get("Code", "")
    status = {"AccessDenied": 403, "SlowDown": 503, "ServiceUnavailable": 503, "InternalError": 500}.get(code, 400)
    return ClientError({"Error": dict(refused), "ResponseMetadata": {"HTTPStatusCode": status}}, "DeleteObjects")


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode("ascii")
