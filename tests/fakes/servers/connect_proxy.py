"""A proxy of the kind that networks of companies have: it carries TLS to where `CONNECT` says, and wants a password."""

import base64
import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs

_LIMIT: Final = 65536


@attrs.define
class ConnectProxy:
    """Where it is, and what came through."""

    port: int
    password: str = ""
    """`user:password`; empty lets everybody through."""
    asked: list[str] = attrs.field(factory=list)
    """Where to, one for each connection that was let through."""
    refused: int = 0

    def serve(self, client: socket.socket) -> None:
        """Carry one connection until either side is done."""
        with client, contextlib.suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                piece = client.recv(1)
                if not piece:
                    return
                head += piece
            line, *headers = head.decode().split("\r\n")
            given = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in headers)}
            wanted = f"Basic {base64.b64encode(self.password.encode()).decode()}"
            if self.password and given.get("proxy-authorization") != wanted:
                self.refused += 1
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            host, _, port = line.split(" ")[1].rpartition(":")
            self.asked.append(f"{host}:{port}")
            with socket.create_connection((host, int(port)), timeout=30) as target:
                target.settimeout(None)
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                other = threading.Thread(target=_carry, args=(target, client), daemon=True)
                other.start()
                _carry(client, target)
                other.join(30)


@contextmanager
def connect_proxy(password: str = "") -> Iterator[ConnectProxy]:
    """Run one on a free port of the loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy = ConnectProxy(server.getsockname()[1], password)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    threading.Thread(target=proxy.serve, args=(client,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield proxy
        server.shutdown(socket.SHUT_RDWR)
        thread.join(30)


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_LIMIT):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
