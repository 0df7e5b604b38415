"""The HTTPS front: authenticates, routes, answers."""

import contextlib
import datetime as dt
import json
import select
import ssl
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final

import attrs

from tests.fakes.kube import logs, port_forward, routes
from tests.fakes.kube.access import User, Wish
from tests.fakes.kube.answers import NoSuchPath, Refusal, bad_request
from tests.fakes.kube.api import Options
from tests.fakes.kube.control import CONTROL_PATH
from tests.fakes.kube.control_plane import ControlPlane
from tests.fakes.kube.faults import NOTHING, Fault
from tests.fakes.kube.objects import Obj, stamp
from tests.fakes.kube.schema import SERVER_VERSION

_HEALTH: Final = ("healthz", "livez", "readyz")
_MOST_KEPT_ALIVE_S: Final = 120


class Server(ThreadingHTTPServer):
    """Listens on a free loopback port; each connection has a thread."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, plane: ControlPlane, context: ssl.SSLContext) -> None:
        self.plane = plane
        self._context = context
        super().__init__(("127.0.0.1", 0), Handler)

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection; its handshake is its own thread's business."""
        raw, address = super().get_request()
        return self._context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep silent about clients that went away."""


class Handler(BaseHTTPRequestHandler):
    """One connection's requests."""

    server: Server
    connection: ssl.SSLSocket
    protocol_version = "HTTP/1.1"
    timeout = _MOST_KEPT_ALIVE_S
    wbufsize = -1
    disable_nagle_algorithm = True
    _health: ClassVar = _HEALTH

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        """Print nothing."""

    def handle(self) -> None:
        """Serve the connection until the client leaves it."""
        with contextlib.suppress(OSError, ssl.SSLError):
            self.connection.do_handshake()
            super().handle()

    def _serve(self) -> None:
        self._status = 0
        self._fault: Fault = NOTHING
        self._user = User("")
        self._warnings: list[str] = []
        length = int(self.headers.get("Content-Length") or 0)
        self._body = self.rfile.read(length)
        plane = self.server.plane
        try:
            self._user = plane.access.caller(self.headers.get("Authorization"))
            self._fault = NOTHING if self.path.startswith(CONTROL_PATH) else self._due_fault()
            self._answer()
        except Refusal as refusal:
            self._refuse(refusal)
        except NoSuchPath:
            self._send(404, b"404 page not found\n", "text/plain; charset=utf-8")
        except ConnectionAbortedError:
            self._break()
        finally:
            if not self.path.startswith(CONTROL_PATH):
                plane.requests.note(self.command, self.path, self._user.name, self._status)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - the base class looks for these

    def _due_fault(self) -> Fault:
        fault = self.server.plane.faults.of(self.command, self.path, self._user.name)
        time.sleep(fault.delay_s)
        if fault.drop:
            raise ConnectionAbortedError
        if fault.refusal is not None:
            raise fault.refusal
        return fault

    def _answer(self) -> None:
        parts, _ = routes.split(self.path)
        if self.path.startswith(CONTROL_PATH):
            self.server.plane.access.require(self._user, Wish(verb="*", plural="double"))
            self._send_json(200, self.server.plane.control.act(self.path.removeprefix(CONTROL_PATH), self._json()))
            return
        if not self._answer_about_server(parts):
            self._answer_about_objects()

    def _answer_about_server(self, parts: list[str]) -> bool:
        catalog = self.server.plane.catalog
        match parts:
            case ["version"]:
                self._send_json(200, _version())
            case [name] if name in self._health:
                self._send(200, b"ok", "text/plain; charset=utf-8")
            case ["api"]:
                self._send_json(200, {"kind": "APIVersions", "versions": ["v1"]})
            case ["apis"]:
                self._send_json(200, catalog.group_list())
            case ["apis", group]:
                self._send_json(200, catalog.group(group))
            case ["api", "v1"]:
                self._send_json(200, catalog.resource_list("", "v1"))
            case ["apis", group, version]:
                self._send_json(200, catalog.resource_list(group, version))
            case _:
                return False
        return True

    def _answer_about_objects(self) -> None:
        plane = self.server.plane
        request = routes.routed(self.command, self.path, plane.catalog)
        plane.access.require(self._user, request.wish)
        target, query = request.target, request.query
        match (request.verb, target.subresource):
            case (_, "log"):
                self._log(request)
            case (_, "portforward"):
                self._forward(request)
            case ("watch", _):
                self._stream(plane.watches.lines(target, query, self._is_heard), "application/json")
            case ("create", _):
                self._send_json(201, self._created(request))
            case ("list", _):
                self._send_json(200, plane.api.listed(target, query))
            case ("get", _):
                self._send_json(200, plane.api.read(target))
            case _:
                self._send_json(200, self._changed(request))

    def _created(self, request: routes.Request) -> Obj:
        target, api = request.target, self.server.plane.api
        if target.subresource == "token":
            return self._token(request)
        if target.subresource == "eviction":
            api.delete(target, (self._json() or {}).get("deleteOptions") or {})
            return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        if target.resource.group in {"authorization.k8s.io", "authentication.k8s.io"}:
            return self._review(request)
        return api.create(target, self._json(), self._options(request.query))

    def _changed(self, request: routes.Request) -> Obj:
        target, query, api = request.target, request.query, self.server.plane.api
        match request.verb:
            case "update":
                return api.replace(target, self._json(), self._options(query))
            case "patch":
                kind = self.headers.get("Content-Type", "")
                return api.patch(target, self._json(), kind, self._options(query))
            case "delete":
                return api.delete(target, self._delete_options(query))
            case _:
                return api.delete_collection(target, query, self._delete_options(query))

    def _json(self) -> Any:
        if not self._body:
            return None
        try:
            return json.loads(self._body)
        except ValueError as error:
            raise bad_request(f"the object provided is unrecognized (must be of type JSON): {error}") from error

    def _options(self, query: dict[str, str]) -> Options:
        strict = query.get("fieldValidation") == "Strict"
        ignore = query.get("fieldValidation") == "Ignore"
        warnings: list[str] = [] if ignore else self._warnings
        return Options(dry_run=query.get("dryRun") == "All", strict=strict, warnings=warnings)

    def _delete_options(self, query: dict[str, str]) -> Obj:
        options: Obj = dict(self._json() or {})
        for name in ("propagationPolicy", "dryRun"):
            if query.get(name):
                options[name] = query[name]
        if query.get("orphanDependents") == "true":
            options["orphanDependents"] = True
        if query.get("gracePeriodSeconds"):
            options["gracePeriodSeconds"] = int(query["gracePeriodSeconds"])
        return options

    def _review(self, request: routes.Request) -> Obj:
        body = {"kind": request.target.resource.kind, **(self._json() or {})}
        if body["kind"] == "SelfSubjectReview":
            status: Obj = {"userInfo": {"username": self._user.name, "groups": list(self._user.groups)}}
        else:
            status = self.server.plane.access.review(self._user, body)
        return {**body, "apiVersion": request.target.resource.api_version, "metadata": {}, "status": status}

    def _token(self, request: routes.Request) -> Obj:
        target = request.target
        user = User(f"system:serviceaccount:{target.namespace}:{target.name}", ("system:serviceaccounts",))
        spec: Obj = (self._json() or {}).get("spec") or {}
        until = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=spec.get("expirationSeconds") or 3600)
        status = {"token": self.server.plane.access.issue(user), "expirationTimestamp": stamp(until)}
        head = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": {"name": target.name}}
        return {**head, "spec": spec, "status": status}

    def _log(self, request: routes.Request) -> None:
        pod = self.server.plane.api.read(request.target)
        log = logs.log_of(self.server.plane.kubelet, pod, request.query)
        found: Iterable[bytes] = [] if log is None else logs.pieces(log, request.query, self._is_heard)
        self._stream(found, "text/plain")

    def _forward(self, request: routes.Request) -> None:
        plane = self.server.plane
        # An upgrade by GET needs what one by POST would: the server's check since 1.35.
        plane.access.require(self._user, attrs.evolve(request.wish, verb="create"))
        pod = plane.api.read(request.target)
        if "websocket" not in self.headers.get("Upgrade", "").lower():
            raise bad_request("Upgrade request required")
        if pod["status"].get("phase") != "Running":
            raise bad_request(
                f"unable to forward port because pod is not running. Current status={pod['status']['phase']}"
            )
        ports = port_forward.asked_ports(request.query)
        self._status = 101
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", port_forward.accept_key(self.headers.get("Sec-WebSocket-Key", "")))
        self.send_header("Sec-WebSocket-Protocol", port_forward.PROTOCOL)
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        port_forward.Tunnel(self.connection, pod, ports).run()

    def _stream(self, pieces: Iterable[bytes], content_type: str) -> None:
        fault = self._fault
        self._status = 200
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for count, piece in enumerate(pieces):
            if fault.cut_after is not None and count >= fault.cut_after:
                raise ConnectionAbortedError
            size = fault.piece or len(piece)
            for start in range(0, len(piece), size):
                part = piece[start : start + size]
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                self.wfile.flush()
        if fault.cut_after == 0:
            raise ConnectionAbortedError
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _is_heard(self) -> bool:
        """Tell whether the client still listens: it sends nothing, so what can be read is its end."""
        ready, _, _ = select.select([self.connection], [], [], 0)
        return not ready

    def _refuse(self, refusal: Refusal) -> None:
        headers = {}
        if refusal.retry_after_s is not None:
            headers["Retry-After"] = str(refusal.retry_after_s)
        self._send(refusal.code, json.dumps(refusal.body()).encode(), "application/json", headers)

    def _send_json(self, status: int, body: Any) -> None:
        self._send(status, json.dumps(body, separators=(",", ":")).encode(), "application/json")

    def _send(self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> None:
        if self._fault.lose_reply:
            raise ConnectionAbortedError
        self._status = status
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for warning in self._warnings:
            self.send_header("Warning", f"299 - {json.dumps(warning)}")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _break(self) -> None:
        """Cut the connection as a proxy does: no goodbye of either protocol."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.flush()
        with contextlib.suppress(OSError):
            self.connection.shutdown(2)


def _version() -> Obj:
    major, minor, _ = SERVER_VERSION.split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{SERVER_VERSION}",
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.26.6",
        "compiler": "gc",
        "platform": "linux/amd64",
    }
