"""A plain HTTP client that puts files into an object store, and gets them: one request each, nothing compared."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import quote

from benchmarks.drive.step import Step

_CHUNK_BYTES: Final = 1 << 20
_REFUSED: Final = 400
# The server asks for a signature, and looks at none.
_SIGNED: Final = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-north-1/s3/aws4_request, SignedHeaders=host,"
    " Signature=0"
}
FOLDER: Final = f"plain/cache/{'0' * 64}"
"""As long as the other's: a server may look through the names that it has."""


def put(config: Mapping[str, Any]) -> Step:
    """Put the files below a folder, some at once."""
    files = _files(config)
    loop, session = _session(config["at_once"])

    async def ask(method: str, address: str, headers: Mapping[str, str], body: bytes | IO[bytes] | None) -> int:
        async with session.request(method, address, data=body, headers=headers) as reply:
            await reply.read()
            status: int = reply.status
            return status

    async def put_one(path: Path) -> None:
        method, address, headers = _upload(config["scheme"], config["address"], config["bucket"], path.name)
        if await ask(method, address, headers, _body(path)) >= _REFUSED:
            raise RuntimeError(f"{method} {address} was refused")

    async def delete_one(path: Path) -> None:
        await ask(*_deletion(config["scheme"], config["address"], config["bucket"], path.name), None)

    def each(act: Callable[[Path], Awaitable[None]]) -> None:
        loop.run_until_complete(_each(files, act, config["at_once"]))

    # Like the other, it puts what the server does not have: some servers replace an object more quickly.
    return Step(before=lambda: each(delete_one), act=lambda: each(put_one))


def get(config: Mapping[str, Any]) -> Step:
    """Get the objects of the same names into a folder, some at once."""
    files, out = _files(config), Path(config["out"])
    loop, session = _session(config["at_once"])

    async def get_one(path: Path) -> None:
        place, headers = _download(config["scheme"], config["address"], config["bucket"], path.name)
        async with session.get(place, headers=headers) as reply:
            if reply.status >= _REFUSED:
                raise RuntimeError(f"{place} was refused")
            with (out / path.name).open("wb") as stream:
                async for chunk in reply.content.iter_chunked(_CHUNK_BYTES):
                    stream.write(chunk)

    def act() -> None:
        out.mkdir(parents=True)
        loop.run_until_complete(_each(files, get_one, config["at_once"]))

    return Step(before=lambda: shutil.rmtree(out, ignore_errors=True), act=act)


def _files(config: Mapping[str, Any]) -> list[Path]:
    top = Path(config["data"])
    return [path for path in sorted(top.rglob("*")) if path.is_file()] if top.is_dir() else [top]


def _session(at_once: int) -> tuple[asyncio.AbstractEventLoop, Any]:
    from aiohttp import ClientSession, TCPConnector

    loop = asyncio.new_event_loop()

    async def opened() -> ClientSession:
        return ClientSession(connector=TCPConnector(limit=at_once))

    return loop, loop.run_until_complete(opened())


async def _each(files: Sequence[Path], act: Callable[[Path], Awaitable[None]], at_once: int) -> None:
    async def work(waiting: Iterator[Path]) -> None:
        for path in waiting:
            await act(path)

    waiting = iter(files)
    await asyncio.gather(*(work(waiting) for _ in range(at_once)))


def _body(path: Path) -> bytes | IO[bytes]:
    return path.read_bytes() if path.stat().st_size < _CHUNK_BYTES else path.open("rb")


def _upload(scheme: str, address: str, bucket: str, name: str) -> tuple[str, str, dict[str, str]]:
    if scheme == "gs":
        place = f"{address}/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(f'{FOLDER}/{name}')}"
        return "POST", place, {}
    return "PUT", f"{address}/{bucket}/{FOLDER}/{quote(name)}", _SIGNED


def _download(scheme: str, address: str, bucket: str, name: str) -> tuple[str, dict[str, str]]:
    if scheme == "gs":
        return f"{address}/download/storage/v1/b/{bucket}/o/{quote(f'{FOLDER}/{name}', safe='')}?alt=media", {}
    return f"{address}/{bucket}/{FOLDER}/{quote(name)}", _SIGNED


def _deletion(scheme: str, address: str, bucket: str, name: str) -> tuple[str, str, dict[str, str]]:
    if scheme == "gs":
        return "DELETE", f"{address}/storage/v1/b/{bucket}/o/{quote(f'{FOLDER}/{name}', safe='')}", {}
    return "DELETE", f"{address}/{bucket}/{FOLDER}/{quote(name)}", _SIGNED
