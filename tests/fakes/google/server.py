"""The services of Google that make and keep images, on this machine: real HTTP, own state, faults on demand."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs

from tests.fakes.google.account import Account
from tests.fakes.google.builds import BUCKET, Builds
from tests.fakes.google.problem import Problem, unserved
from tests.fakes.google.registry import Registry

_TOKEN = "/token"


@attrs.define(kw_only=True)
class Fault:
    """What befalls requests of this method whose path the pattern is found in."""

    method: str
    path: str
    times: int
    status: int
    message: str = "no"
    reason: str = ""
    retry_after: str = ""
    lose_reply: bool = False
    """The request is served, and the connection cut before the answer."""
    body: bytes | None = None
    """Answered as it is."""


@attrs.define
class Google:
    """What a test may look at and change while the services run."""

    folder: Path
    account: Account = attrs.field(factory=Account, init=False)
    registry: Registry = attrs.field(factory=Registry, init=False)
    builds: Builds = attrs.field(init=False)
    requests: list[str] = attrs.field(factory=list, init=False)
    """Of each its method and path, without the token's."""
    url: str = attrs.field(default="", init=False)
    _faults: list[Fault] = attrs.field(factory=list, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self.builds = Builds(self.registry, self.folder / "builds")

    def fail(self, method: str, path: str, status: int, *, times: int = 1_000, **more: Any) -> None:
        """Let requests fail from now on."""
        with self._lock:
            self._faults.append(Fault(method=method, path=path, times=times, status=status, **more))

    def environ(self) -> dict[str, str]:
        """Return the variables by which a client comes here, and with which credentials."""
        key = self.account.write(self.folder / "key.json", f"{self.url}{_TOKEN}")
        names = ("CLOUDBUILD", "ARTIFACTREGISTRY", "STORAGE")
        urls = {f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": f"{self.url}/" for name in names}
        return {**urls, "GOOGLE_APPLICATION_CREDENTIALS": str(key), "NO_GCE_CHECK": "true"}

    def due(self, method: str, path: str) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if fault.times > 0 and fault.method == method and re.search(fault.path, path):
                    fault.times -= 1
                    return fault
        return None

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        """Return the JSON, or the bytes, of an answer."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        match method, parts:
            case _, ["v1", "projects", _, "builds", *_]:
                return self.builds.answer(method, parts[2:], query, body)
            case "GET", ["storage", "v1", "b", bucket, "o", name] if bucket == BUCKET and query["alt"] == "media":
                return self.builds.log(name)
            case _, ["v1", *below]:
                return self.registry.answer(method, below, query, body)
            case _:
                raise unserved(method, parts)


class Handler(BaseHTTPRequestHandler):
    """One connection's requests."""

    google: Google
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        """Print nothing."""

    def _serve(self) -> None:
        split = urlsplit(self.path)
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if split.path == _TOKEN:
                self._send(200, self._token(sent))
            else:
                self._answer(split.path, dict(parse_qsl(split.query)), json.loads(sent) if sent else None)
        except Problem as problem:
            self._send(problem.status, problem.body, retry_after=problem.retry_after)

    def _answer(self, path: str, query: dict[str, str], body: Any) -> None:
        google = self.google
        google.requests.append(f"{self.command} {path}")
        if not google.account.knows(self.headers.get("Authorization")):
            raise Problem(401, "Request had invalid authentication credentials.")
        fault = google.due(self.command, path)
        if fault is None:
            answer = google.answer(self.command, path, query, body)
            self._send(200, self._part(answer) if isinstance(answer, bytes) else answer)
        elif fault.lose_reply:
            with suppress(Problem):
                google.answer(self.command, path, query, body)
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault.body is not None:
            self._send(fault.status, fault.body)
        else:
            raise Problem(fault.status, fault.message, reason=fault.reason, retry_after=fault.retry_after)

    do_GET = do_POST = _serve  # noqa: N815 - the base class looks for these

    def _token(self, sent: bytes) -> Any:
        fault = self.google.due("POST", _TOKEN)
        if fault is not None:
            raise Problem(fault.status, fault.message)
        token = self.google.account.issue(dict(parse_qsl(sent.decode()))["assertion"])
        return {"access_token": token, "expires_in": 3600, "token_type": "Bearer"}

    def _part(self, content: bytes) -> bytes:
        wanted = re.fullmatch(r"bytes=-(\d+)", self.headers.get("Range", ""))
        return content[-int(wanted[1]) :] if wanted else content

    def _send(self, status: int, answer: Any, *, retry_after: str = "") -> None:
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(answer, bytes) else "application/json")
        self.send_header("Content-Length", str(len(content)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def running_google(folder: Path) -> Iterator[Google]:
    """Serve until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    google = Google(folder)
    handler = type("HandlerOfOne", (Handler,), {"google": google})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        google.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield google
        finally:
            google.builds.may_run.set()
            server.shutdown()
            thread.join()


def until_asked(google: Google, request: str, *, times: int = 1, within_s: float = 20) -> None:
    """Wait until requests whose method and path begin so have come."""
    deadline_s = time.monotonic() + within_s
    while sum(one.startswith(request) for one in google.requests) < times:
        assert time.monotonic() < deadline_s, f"nobody asked {request}: {google.requests}"
        time.sleep(0.01)
