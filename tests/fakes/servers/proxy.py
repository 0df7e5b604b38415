"""A reverse proxy that breaks what passes through it as it is told, and counts the requests."""

import asyncio
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final, Literal

import attrs
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

Fault = Literal[
    "status",
    "reset",
    "reset_mid_request",
    "lost_reply",
    "truncated",
    "altered",
    "altered_request",
    "held",  # passes when the rules change
    "deaf",  # is accepted, and neither read nor answered
    "mute",  # is read, and never answered
]

# A second `Server`, as some servers send, is more than aiohttp takes in Python's development mode.
_HOP_BY_HOP: Final = frozenset(
    ("connection", "date", "server", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade")
)
_LIMIT_BYTES: Final = 1 << 30


@attrs.define(kw_only=True)
class Rule:
    """What to do to some requests."""

    fault: Fault
    status: int = 503
    headers: dict[str, str] = attrs.field(factory=dict)
    text: str = "broken on purpose"
    method: str = ".*"
    path: str = ".*"
    """Regular expression, searched in the path with its query as it stands in the request."""
    skip: int = 0
    """Matching requests that pass before the first fault."""
    times: int = 1
    """Matching requests that fail; then all pass again."""
    hits: int = attrs.field(default=0, init=False)
    lifted: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    """Set when the rule holds no more."""

    def strikes(self, method: str, path: str) -> bool:
        """Tell whether this request fails, and count it."""
        if not (re.fullmatch(self.method, method) and re.search(self.path, path)):
            return False
        self.hits += 1
        return self.skip < self.hits <= self.skip + self.times


@attrs.define
class Proxy:
    """A running proxy."""

    upstream: str
    address: str = ""
    rules: list[Rule] = attrs.field(factory=list)
    seen: list[tuple[str, str]] = attrs.field(factory=list)
    """Method and path of each request since the last `break_`."""
    asking: list[str] = attrs.field(factory=list)
    """Paths of the requests since then whose sender waited for leave to send the body."""
    loop: asyncio.AbstractEventLoop | None = None

    def break_(self, *rules: Rule) -> None:
        """Replace the rules, and forget the requests seen."""
        for rule in self.rules:
            if self.loop is not None:
                self.loop.call_soon_threadsafe(rule.lifted.set)
        self.rules[:] = rules
        self.seen.clear()
        self.asking.clear()

    def count(self, method: str, path: str = ".*") -> int:
        """Return how many requests were seen."""
        return sum(1 for one, there in self.seen if re.fullmatch(method, one) and re.search(path, there))

    async def handle(self, request: web.Request, session: ClientSession) -> web.StreamResponse:
        """Answer one request."""
        path = request.rel_url.raw_path_qs
        self.seen.append((request.method, path))
        if "Expect" in request.headers:
            self.asking.append(path)
        rule = next((rule for rule in self.rules if rule.strikes(request.method, path)), None)
        match rule and rule.fault:
            case "status" if rule:
                await request.read()
                return web.Response(status=rule.status, headers=rule.headers, text=rule.text)
            case "reset":
                return _reset(request)
            case "held" if rule:
                await rule.lifted.wait()
            case "deaf" | "mute" if rule:
                if rule.fault == "mute":
                    await request.read()
                await rule.lifted.wait()
                return _reset(request)
            case "reset_mid_request":
                await request.content.readany()
                return _reset(request)
        body = await request.read()
        if rule and rule.fault == "altered_request":
            body = _altered(body)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP_BY_HOP}
        async with session.request(
            request.method,
            f"{self.upstream}{path}",
            headers=headers,
            data=BytesIO(body) if body else None,
            allow_redirects=False,
            skip_auto_headers=("Content-Type", "User-Agent", "Accept-Encoding"),
        ) as reply:
            content = await reply.read()
            fields = [
                (k, v.replace(self.upstream, self.address))
                for k, v in reply.headers.items()
                if k.lower() not in _HOP_BY_HOP | ({"content-length"} if request.method != "HEAD" else set())
            ]
        if rule and rule.fault == "lost_reply":
            return _reset(request)
        return await self._answer(request, rule, reply.status, fields, content)

    async def _answer(
        self, request: web.Request, rule: Rule | None, status: int, fields: list[tuple[str, str]], content: bytes
    ) -> web.StreamResponse:
        answer = web.StreamResponse(status=status)
        for name, value in fields:
            answer.headers.add(name, value)
        if rule and rule.fault == "altered":
            content = _altered(content)
        whole = rule is None or rule.fault != "truncated"
        if status not in (204, 304) and request.method != "HEAD":
            answer.content_length = len(content)
        await answer.prepare(request)
        if request.method != "HEAD":
            await answer.write(content if whole else content[: len(content) // 2])
        if not whole:
            return _reset(request)
        await answer.write_eof()
        return answer


def _altered(content: bytes) -> bytes:
    """Flip a bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def _reset(request: web.Request) -> web.Response:
    """End the connection at once: the peer sees a reset."""
    transport = request.transport
    if transport is not None:
        plug = transport.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()


@contextmanager
def proxied(upstream: str) -> Iterator[Proxy]:
    """Run a proxy before a server until the block ends."""
    proxy = Proxy(upstream)
    started, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(_serve(proxy, started.set, stop),), daemon=True)
    thread.start()
    if not started.wait(60):
        raise RuntimeError("the proxy did not start")
    try:
        yield proxy
    finally:
        proxy.break_()
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


async def _serve(proxy: Proxy, started: Callable[[], None], stop: asyncio.Event) -> None:
    session = ClientSession(auto_decompress=False, timeout=ClientTimeout(total=60), connector=TCPConnector(limit=0))

    async def handler(request: web.Request) -> web.StreamResponse:
        try:
            return await proxy.handle(request, session)
        except ConnectionError:  # the client has gone
            return web.Response()

    application = web.Application(client_max_size=_LIMIT_BYTES)
    application.router.add_route("*", "/{rest:.*}", handler)
    runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    proxy.address = f"http://{host}:{port}"
    proxy.loop = asyncio.get_running_loop()
    started()
    await stop.wait()
    await runner.cleanup()
    await session.close()
