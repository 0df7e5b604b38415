"""A plain HTTP client that puts files into an object store: one request a file, connections kept, nothing compared."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
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
_FOLDER: Final = f"plain/cache/{'0' * 64}"
"""As long as the other's: a server may look through the names that it has."""


def put(config: Mapping[str, Any]) -> Step:
    """Put the files below a folder, some at once."""
    from aiohttp import ClientSession, TCPConnector

    top = Path(config["data"])
    files = [path for path in sorted(top.rglob("*")) if path.is_file()] if top.is_dir() else [top]
    loop = asyncio.new_event_loop()

    async def opened() -> ClientSession:
        return ClientSession(connector=TCPConnector(limit=config["at_once"]))

    session = loop.run_until_complete(opened())

    async def ask(method: str, address: str, headers: Mapping[str, str], body: bytes | IO[bytes] | None) -> int:
        async with session.request(method, address, data=body, headers=headers) as reply:
            await reply.read()
            return reply.status

    async def put_one(path: Path) -> None:
        method, address, headers = _upload(config["scheme"], config["address"], config["bucket"], path.name)
        if await ask(method, address, headers, _body(path)) >= _REFUSED:
            raise RuntimeError(f"{method} {address} was refused")

    async def delete_one(path: Path) -> None:
        await ask(*_deletion(config["scheme"], config["address"], config["bucket"], path.name), None)

    def each(act: Callable[[Path], Awaitable[None]]) -> None:
        async def work(waiting: Iterator[Path]) -> None:
            for path in waiting:
                await act(path)

        async def all_of_them() -> None:
            waiting = iter(files)
            await asyncio.gather(*(work(waiting) for _ in range(config["at_once"])))

        loop.run_until_complete(all_of_them())

    # Like the other, it puts what the server does not have: some servers replace an object more quickly.
    return Step(before=lambda: each(delete_one), act=lambda: each(put_one))


def _body(path: Path) -> bytes | IO[bytes]:
    return path.read_bytes() if path.stat().st_size < _CHUNK_BYTES else path.open("rb")


def _upload(scheme: str, address: str, bucket: str, name: str) -> tuple[str, str, dict[str, str]]:
    if scheme == "gs":
        place = f"{address}/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(f'{_FOLDER}/{name}')}"
        return "POST", place, {}
    return "PUT", f"{address}/{bucket}/{_FOLDER}/{quote(name)}", _SIGNED


def _deletion(scheme: str, address: str, bucket: str, name: str) -> tuple[str, str, dict[str, str]]:
    if scheme == "gs":
        return "DELETE", f"{address}/storage/v1/b/{bucket}/o/{quote(f'{_FOLDER}/{name}', safe='')}", {}
    return "DELETE", f"{address}/{bucket}/{_FOLDER}/{quote(name)}", _SIGNED
