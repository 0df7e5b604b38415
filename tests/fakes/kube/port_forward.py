"""Port forwarding over a websocket: two channels a port, one for data and one for what went wrong."""

import base64
import contextlib
import hashlib
import select
import socket
import ssl
import struct
from typing import Final

from tests.fakes.kube.answers import bad_request
from tests.fakes.kube.objects import Obj, name_of

PROTOCOL: Final = "v4.channel.k8s.io"
_MAGIC: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BINARY, _CLOSE, _PING, _PONG = 2, 8, 9, 10
_PIECE: Final = 65536


def accept_key(key: str) -> str:
    """Return the answer to the client's `Sec-WebSocket-Key` (RFC 6455, 4.2.2)."""
    return base64.b64encode(hashlib.sha1(key.encode() + _MAGIC).digest()).decode()


def asked_ports(query: dict[str, str]) -> list[int]:
    """Return the ports asked for.

    Raises:
        Refusal: There is none, or one is no number.
    """
    try:
        ports = [int(text) for text in query.get("ports", "").split(",")]
    except ValueError as error:
        raise bad_request('query parameter "ports" is required') from error
    return ports


def loopback(pod: Obj, port: int) -> str:
    """Return the loopback address of a pod.

    Its network is the machine's. For the ports that it declares it has an address of its own, so that two pods may
    listen on the same; a process learns of it as `environment` has it.
    """
    declared = [each["containerPort"] for spec in pod["spec"]["containers"] for each in spec.get("ports") or ()]
    if port not in declared:
        return "127.0.0.1"
    digest = hashlib.sha256(str(pod["metadata"]["uid"]).encode()).digest()
    return f"127.{digest[0] % 254 + 1}.{digest[1]}.{digest[2] % 254 + 1}"


class Tunnel:
    """One websocket connection and the pod's ports behind it."""

    def __init__(self, client: ssl.SSLSocket, pod: Obj, ports: list[int]) -> None:
        self._client = client
        self._pod = pod
        self._ports = ports
        self._targets: dict[socket.socket, int] = {}
        self._received = b""
        self._open = True

    def run(self) -> None:
        """Carry bytes until either side is done."""
        for index, port in enumerate(self._ports):
            for channel in (2 * index, 2 * index + 1):
                self._send(bytes([channel]) + struct.pack("<H", port))
            self._connect(index, port)
        try:
            while self._open and self._targets:
                self._carry()
        finally:
            for target in self._targets:
                target.close()
            with contextlib.suppress(OSError):
                self._frame(_CLOSE, struct.pack(">H", 1000))

    def _connect(self, index: int, port: int) -> None:
        try:
            target = socket.create_connection((loopback(self._pod, port), port), timeout=5)
            target.settimeout(None)
            self._targets[target] = 2 * index
        except OSError as error:
            uid = self._pod["metadata"]["uid"]
            told = f"error forwarding port {port} to pod {name_of(self._pod)}, uid {uid}: failed to connect to "
            told += f"localhost:{port} inside namespace: {error}"
            self._send(bytes([2 * index + 1]) + told.encode())

    def _carry(self) -> None:
        waiting: list[socket.socket] = [*self._targets]
        ready = [self._client] if self._client.pending() else select.select([self._client, *waiting], [], [], 1)[0]
        for each in ready:
            if each is self._client:
                self._take()
            else:
                self._give(each)

    def _give(self, target: socket.socket) -> None:
        channel = self._targets[target]
        try:
            data = target.recv(_PIECE)
        except OSError:
            data = b""
        if data:
            self._send(bytes([channel]) + data)
        else:
            target.close()
            del self._targets[target]

    def _take(self) -> None:
        data = self._client.recv(_PIECE)
        if not data:
            self._open = False
            return
        self._received += data
        while (frame := self._next_frame()) is not None:
            opcode, payload = frame
            match opcode:
                case 8:
                    self._open = False
                case 9:
                    self._frame(_PONG, payload)
                case 2 if payload:
                    for target, channel in self._targets.items():
                        if channel == payload[0]:
                            target.sendall(payload[1:])

    def _next_frame(self) -> tuple[int, bytes] | None:
        data = self._received
        if len(data) < 2:
            return None
        length, at = data[1] & 0x7F, 2
        if length >= 126:
            size, form = (2, ">H") if length == 126 else (8, ">Q")
            if len(data) < at + size:
                return None
            (length,) = struct.unpack(form, data[at : at + size])
            at += size
        masked = bool(data[1] & 0x80)
        mask = data[at : at + 4] if masked else b"\0\0\0\0"
        at += 4 if masked else 0
        if len(data) < at + length:
            return None
        self._received = data[at + length :]
        payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data[at : at + length]))
        return data[0] & 0x0F, payload

    def _send(self, payload: bytes) -> None:
        self._frame(_BINARY, payload)

    def _frame(self, opcode: int, payload: bytes) -> None:
        length = len(payload)
        if length < 126:
            head = struct.pack(">BB", 0x80 | opcode, length)
        elif length < 65536:
            head = struct.pack(">BBH", 0x80 | opcode, 126, length)
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, 127, length)
        self._client.sendall(head + payload)
