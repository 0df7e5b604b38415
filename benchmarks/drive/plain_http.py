"""A plain HTTP client that puts files into an object store: one request a file, connections kept, nothing compared."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import quote

from benchmarks.drive.step import Step

_CHUNK_BYTES: Final = 1 << 20


def put(config: Mapping[str, Any]) -> Step:
    """Put the files below a folder, some at once."""
    from aiohttp import ClientSession, TCPConnector

    top = Path(config["data"])
    files = [path for path in sorted(top.rglob("*")) if path.is_file()] if top.is_dir() else [top]
    loop = asyncio.new_event_loop()

    async def opened() -> ClientSession:
        return ClientSession(connector=TCPConnector(limit=config["at_once"]))

    session = loop.run_until_complete(opened())

    async def send(path: Path) -> None:
        method, address, headers = _request(config["scheme"], config["address"], config["bucket"], path.name)
        async with session.request(method, address, data=_body(path), headers=headers) as reply:
            await reply.read()
            reply.raise_for_status()

    async def send_all() -> None:
        waiting = iter(files)

        async def work() -> None:
            for path in waiting:
                await send(path)

        await asyncio.gather(*(work() for _ in range(config["at_once"])))

    return Step(act=lambda: loop.run_until_complete(send_all()))


def _body(path: Path) -> bytes | IO[bytes]:
    return path.read_bytes() if path.stat().st_size < _CHUNK_BYTES else path.open("rb")


def _request(scheme: str, address: str, bucket: str, name: str) -> tuple[str, str, dict[str, str]]:
    if scheme == "gs":
        return "POST", f"{address}/upload/storage/v1/b/{bucket}/o?uploadType=media&name=plain/{quote(name)}", {}
    # The server asks for a signature, and looks at none.
    signed = "AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-north-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    return "PUT", f"{address}/{bucket}/plain/{quote(name)}", {"Authorization": signed}
