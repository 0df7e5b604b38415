"""Cloud Storage. The session and the credentials are gcsfs's, the requests our own: one each, exact, checked.

gcsfs's own upload frames data so that some of it breaks, compares no checksum on reading, and tries each request
six times; see docs/adr/0017.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from typing import Any, BinaryIO, Final
from urllib.parse import quote, urlencode

from gcsfs.core import GCSFileSystem
from gcsfs.retry import HttpError, validate_response
from yarl import URL

from kinetic_core.plugin import StoredObject
from kinetic_core.wire.names import PART_PREFIX
from kinetic_core.wire.transience import DamagedError
from kinetic_fsspec.bodies import Body
from kinetic_fsspec.bucket import WRITER, LostPartsError, Sink, TakenError
from kinetic_fsspec.checksums import Crc32c, crc32c, crc32c_of_file
from kinetic_fsspec.loops import StallLimit, run
from kinetic_fsspec.tally import Tally

_CHUNK_BYTES: Final = 1 << 20
_TYPE: Final = "application/octet-stream"
_AT_ONCE: Final = 16
_MOST_COMPOSED: Final = 32
# Without the decorator that tries again.
_request: Final = getattr(GCSFileSystem._request, "__wrapped__", GCSFileSystem._request)  # noqa: SLF001 - gcsfs has no public name for it


class GcsBucket:
    """A bucket of Cloud Storage, or a folder in one."""

    def __init__(self, system: Any, root: str) -> None:
        """Open it.

        Args:
            system: gcsfs's file system.
            root: Bucket and folder.
        """
        self._system = system
        self._bucket, _, folder = root.partition("/")
        self._folder = f"{folder}/" if folder else ""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that requests run on."""
        loop: asyncio.AbstractEventLoop = self._system.loop
        return loop

    def put(self, name: str, data: bytes, *, writer: str | None = None, only_new: bool = False) -> None:
        """Store the bytes at once."""
        is_plain = writer is None and not only_new
        call = self.send(name, data) if is_plain else self._claim(name, data, writer=writer, only_new=only_new)
        run(self.loop, call, sent_bytes=len(data))

    async def send(self, name: str, data: bytes) -> None:
        """Store the bytes at once, on the loop."""
        await self._send(name, data)

    def stream(self, name: str, source: BinaryIO, size_bytes: int, tally: Tally) -> None:
        """Store a file in one request, which reads it while it is sent."""
        total = crc32c_of_file(source)
        run(self.loop, self._stream(name, source, size_bytes, total, tally))

    def writer_of(self, name: str) -> str | None:
        """Return the label of an object."""
        found = self._call("GET", "b/{}/o/{}", self._bucket, self._folder + name, fields="metadata")
        label: str | None = found.get("metadata", {}).get(WRITER)
        return label

    def upload(self, name: str) -> "_Composition":
        """Begin an object that is too large for one request."""
        return _Composition(self, name)

    def get(self, name: str, sink: Sink) -> None:
        """Write the object's bytes to the sink."""
        run(self._system.loop, self._get(name, sink))

    def holds(self, name: str) -> bool:
        """Tell whether an object has this name."""
        try:
            self._call("GET", "b/{}/o/{}", self._bucket, self._folder + name, fields="name")
        except FileNotFoundError:
            return False
        return True

    def page(self, prefix: str, mark: str) -> tuple[list[StoredObject], str]:
        """Return objects whose names start with the prefix, and where the next page begins."""
        found = self._call(
            "GET",
            "b/{}/o",
            self._bucket,
            prefix=self._folder + prefix,
            pageToken=mark or None,
            fields="items(name,size,updated),nextPageToken",
        )
        objects = [
            StoredObject(
                key=item["name"].removeprefix(self._folder),
                size_bytes=int(item.get("size", 0)),
                modified_s=datetime.fromisoformat(item["updated"]).timestamp() if "updated" in item else 0.0,
            )
            for item in found.get("items", ())
        ]
        return objects, found.get("nextPageToken", "")

    def delete(self, names: Sequence[str]) -> None:
        """Delete the objects; absence is no error."""
        run(self._system.loop, _all(self._delete(name) for name in names))

    async def _send(self, name: str, data: bytes) -> dict[str, Any]:
        # A small body as it is; aiohttp sends a large one in pieces only where it reads it.
        body = data if len(data) < _CHUNK_BYTES else BytesIO(data)
        return await self._post(name, body, len(data), crc32c(data))

    async def _stream(self, name: str, source: BinaryIO, size_bytes: int, total: str, tally: Tally) -> None:
        stall = StallLimit()

        async def taken(piece: bytes) -> None:
            stall.begin_anew(len(piece))
            tally.add(len(piece))

        async with stall.limit:
            # It was read a moment ago for its checksum, so the disk makes nobody on the loop wait.
            await self._post(name, Body(source, size_bytes, taken), size_bytes, total)

    async def _post(self, name: str, body: Any, size_bytes: int, total: str) -> dict[str, Any]:
        """Send data alone in one request; the store compares the checksum before the object appears."""
        system = self._system
        await system._set_session()  # noqa: SLF001 - gcsfs has no public name for it
        params = {"uploadType": "media", "fields": "name,generation,size,crc32c", "name": self._folder + name}
        place = f"b/{quote(self._bucket, safe='')}/o"
        told = {"Content-Type": _TYPE, "Content-Length": str(size_bytes), "X-Goog-Hash": f"crc32c={total}"}
        async with system.session.post(
            URL(
                f"{system._location}/upload/storage/v1/{place}?{urlencode(system._get_params(params))}",  # noqa: SLF001 - gcsfs has no public name for it
                encoded=True,
            ),
            headers=system._get_headers(told),  # noqa: SLF001 - gcsfs has no public name for it
            data=body,
            timeout=system.requests_timeout,
        ) as reply:
            contents = await reply.read()
        with _told():
            validate_response(reply.status, contents, place)
        stored: dict[str, Any] = json.loads(contents)
        _compare(stored.get("crc32c"), total)
        return stored

    async def _claim(self, name: str, data: bytes, *, writer: str | None, only_new: bool) -> None:
        """Send metadata and data in one request; the store compares the checksum before the object appears."""
        told: dict[str, Any] = {"name": self._folder + name, "crc32c": crc32c(data)}
        if writer is not None:
            told["metadata"] = {WRITER: writer}
        boundary = os.urandom(16).hex()
        body = b"".join(
            (
                f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n".encode(),
                json.dumps(told).encode(),
                f"\r\n--{boundary}\r\nContent-Type: {_TYPE}\r\n\r\n".encode(),
                data,
                f"\r\n--{boundary}--\r\n".encode(),
            )
        )
        try:
            with _told():
                stored = await self._request(
                    "POST",
                    f"{self._system._location}/upload/storage/v1/b/{{}}/o",  # noqa: SLF001 - gcsfs has no public name for it
                    self._bucket,
                    uploadType="multipart",
                    headers={"Content-Type": f'multipart/related; boundary="{boundary}"'},
                    data=body if len(body) < _CHUNK_BYTES else BytesIO(body),
                    ifGenerationMatch=0 if only_new else None,
                )
        except FileExistsError as error:
            raise TakenError(name) from error
        _compare(stored.get("crc32c"), told["crc32c"])

    def _compose(self, name: str, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        told = {
            "sourceObjects": [{"name": part["name"], "generation": part["generation"]} for part in parts],
            "destination": {"contentType": "application/octet-stream"},
        }
        try:
            return self._call("POST", "b/{}/o/{}/compose", self._bucket, self._folder + name, json=told)
        except FileNotFoundError as error:
            raise LostPartsError(name) from error

    async def _get(self, name: str, sink: Sink) -> None:
        system = self._system
        await system._set_session()  # noqa: SLF001 - gcsfs has no public name for it
        place = f"b/{quote(self._bucket, safe='')}/o/{quote(self._folder + name, safe='')}"
        async with system.session.get(
            f"{system._location}/download/storage/v1/{place}?alt=media",  # noqa: SLF001 - gcsfs has no public name for it
            params=system._get_params({}),  # noqa: SLF001 - gcsfs has no public name for it
            headers=system._get_headers(None),  # noqa: SLF001 - gcsfs has no public name for it
            timeout=system.requests_timeout,
        ) as reply:
            validate_response(reply.status, b"" if reply.ok else await reply.read(), place)
            total = Crc32c()
            async for chunk in reply.content.iter_chunked(_CHUNK_BYTES):
                total.update(chunk)
                sink.write(chunk)
        sums = dict(
            one.strip().split("=", 1) for line in reply.headers.getall("x-goog-hash", ()) for one in line.split(",")
        )
        # What was stored compressed is told by the checksum of the compressed bytes.
        if "Content-Encoding" not in reply.headers:
            _compare(sums.get("crc32c"), total.text())

    async def _delete(self, name: str) -> None:
        try:
            await _request(self._system, "DELETE", "b/{}/o/{}", self._bucket, self._folder + name)
        except FileNotFoundError:
            return

    def _call(self, method: str, path: str, *args: str, **options: Any) -> dict[str, Any]:
        return run(self.loop, self._request(method, path, *args, **options))

    async def _request(self, method: str, path: str, *args: str, **options: Any) -> dict[str, Any]:
        _, _, _, contents = await _request(self._system, method, path, *args, **options)
        answer: dict[str, Any] = json.loads(contents)
        return answer


class _Composition:
    """An object that is composed of parts, which lie in a folder of their own beside it meanwhile."""

    def __init__(self, bucket: GcsBucket, name: str) -> None:
        self._bucket = bucket
        self._name = name
        self._folder = f"{name.rpartition('/')[0]}/".lstrip("/") + f"{PART_PREFIX}{os.urandom(12).hex()}"
        self._sent: set[str] = set()

    def send(self, number: int, data: bytes) -> dict[str, Any]:
        name = f"{self._folder}/{number}"
        self._sent.add(name)
        return run(self._bucket.loop, self._bucket._send(name, data), sent_bytes=len(data))  # noqa: SLF001 - one is useless without the other

    def finish(self, receipts: Sequence[Any]) -> None:
        level = 0
        parts = list(receipts)
        while len(parts) > _MOST_COMPOSED:
            level += 1
            groups = [parts[start : start + _MOST_COMPOSED] for start in range(0, len(parts), _MOST_COMPOSED)]
            names = [f"{self._folder}/{level}-{number}" for number in range(len(groups))]
            self._sent.update(names)
            parts = [self._bucket._compose(name, group) for name, group in zip(names, groups, strict=True)]  # noqa: SLF001 - one is useless without the other
        whole = self._bucket._compose(self._name, parts)  # noqa: SLF001 - one is useless without the other
        sent = sum(int(part["size"]) for part in receipts)
        if int(whole["size"]) != sent:
            raise DamagedError(f"sent {sent} bytes, and {whole['size']} are stored")

    def discard(self) -> None:
        self._bucket.delete(sorted(self._sent))


@contextmanager
def _told() -> Iterator[None]:
    """Tell a body that was altered on its way from other refusals."""
    try:
        yield
    except (HttpError, ValueError) as error:
        if "crc32c" in str(error).lower():
            raise DamagedError(str(error)) from error
        raise


def _compare(theirs: str | None, ours: str) -> None:
    if theirs is not None and theirs != ours:
        raise DamagedError(f"the checksum is {theirs}, not {ours}")


async def _all(calls: Iterator[Awaitable[None]]) -> None:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(call: Awaitable[None]) -> None:
        async with gate:
            await call

    for outcome in await asyncio.gather(*map(one, calls), return_exceptions=True):
        if outcome is not None:
            raise outcome
