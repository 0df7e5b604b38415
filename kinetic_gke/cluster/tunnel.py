"""A tunnel: bytes to a port of a pod and back, through the API server, as `kubectl port-forward` does it.

One websocket carries the port's data on channel 0 and what goes wrong on channel 1; each begins with the port's number.
"""

import contextlib
import selectors
import socket
import threading
import time
from typing import Any, Final
from urllib.parse import quote, urlencode

from kubernetes import client
from kubernetes.stream import ws_client
from websocket import ABNF, WebSocket, WebSocketBadStatusException, WebSocketException

from kinetic_gke.cluster.refusal import OF_THE_CLIENT, read_refusal, refusal_of

_DATA: Final = b"\x00"
_ERROR: Final = b"\x01"
_PIECE: Final = 1 << 16
_BROKEN: Final = (WebSocketException, OSError)
_CONNECT_S: Final = 10.0
"""For each step of the way there."""
_PING_S: Final = 30.0
"""Proxies cut what is idle for longer, and whoever looks at a breakpoint is."""
_MOST_UNANSWERED: Final = 2


class Tunnel:
    """An open way to a port; one thread may receive while another sends."""

    def __init__(self, websocket: Any) -> None:
        """Carry bytes over a websocket that is connected.

        Args:
            websocket: Of the client's own websocket library.
        """
        self._websocket = websocket
        self._wire: Any = websocket.sock
        # What encrypts the bytes of both directions must not be used by two threads at once.
        self._lock = threading.Lock()
        self._closing = threading.Lock()
        self._numbered: set[bytes] = set()
        self._kept = b""
        self.error = ""
        """What the node, or the way there, said when it was over."""

    def answers(self, wait_s: float) -> bool:
        """Tell whether the port speaks first, as a debugger does; what it said is received again."""
        deadline_s = time.monotonic() + wait_s
        while not self._kept and not self.error and self._has_news(deadline_s - time.monotonic()):
            if not self._take():
                break
        return bool(self._kept)

    def receive(self) -> bytes:
        """Wait for what comes next; empty when nothing more will. The way is kept open, and known to be, as long."""
        unanswered = 0
        while not self._kept and not self.error:
            if self._has_news(_PING_S):
                unanswered = 0
                if not self._take():
                    break
            elif unanswered == _MOST_UNANSWERED:
                self.error = f"nothing was heard for {_PING_S * (unanswered + 1):g} s"
            else:
                unanswered += 1
                self._ping()
        kept, self._kept = self._kept, b""
        return kept

    def send(self, data: bytes) -> None:
        """Send all of it.

        Raises:
            OSError: The other side is gone.
        """
        try:
            for start in range(0, len(data), _PIECE):
                with self._lock:
                    self._websocket.send_binary(_DATA + data[start : start + _PIECE])
        except WebSocketException as error:
            raise ConnectionResetError(str(error)) from error

    def close(self) -> None:
        """End it, also for the thread that receives; nothing happens the second time, also in two threads at once."""
        with contextlib.suppress(OSError):
            self._wire.shutdown(socket.SHUT_RDWR)
        # Not the other lock: who receives may hold that until the shutdown above has woken him.
        with self._closing:
            self._websocket.shutdown()

    def _ping(self) -> None:
        try:
            with self._lock:
                self._websocket.ping()
        except _BROKEN as error:
            self.error = self.error or str(error) or type(error).__name__

    def _has_news(self, wait_s: float) -> bool:
        """Wait until there is something to take; also the end of all is."""
        if getattr(self._wire, "pending", int)():
            return True
        with selectors.DefaultSelector() as selector:
            try:
                selector.register(self._wire, selectors.EVENT_READ)
            except (OSError, ValueError):
                return True  # closed
            return bool(selector.select(max(wait_s, 0)))

    def _take(self) -> bool:
        """Take one frame; tell whether more may come."""
        try:
            with self._lock:
                opcode, data = self._websocket.recv_data(control_frame=True)
        except _BROKEN as error:
            self.error = self.error or str(error) or type(error).__name__
            return False
        if opcode == ABNF.OPCODE_BINARY:
            self._sort(bytes(data[:1]), bytes(data[1:]))
        return bool(opcode != ABNF.OPCODE_CLOSE)

    def _sort(self, channel: bytes, data: bytes) -> None:
        if channel not in self._numbered:
            self._numbered.add(channel)
        elif channel == _ERROR:
            self.error += data.decode("utf-8", "replace")
        else:
            self._kept += data


def open_tunnel(api: client.ApiClient, namespace: str, pod: str, port: int) -> Tunnel:
    """Open a way to a port of a pod; nothing tells yet whether somebody listens there.

    Args:
        api: A client of the cluster.
        namespace: Of the pod.
        pod: Its name.
        port: Of the pod.

    Raises:
        Refusal: The server says no, or does not answer.
    """
    configuration = api.configuration
    path = f"/api/v1/namespaces/{quote(namespace)}/pods/{quote(pod)}/portforward?{urlencode({'ports': port})}"
    url = ws_client.get_websocket_url(f"{configuration.host.rstrip('/')}{path}")
    headers = {"sec-websocket-protocol": ws_client.V4_CHANNEL_PROTOCOL}
    # Each generation of the client has a name of its own for the token.
    headers |= {one["key"].lower(): one["value"] for one in configuration.auth_settings().values() if one["value"]}
    websocket: Any = WebSocket()
    try:
        wire = _connected(api)
        websocket.connect(url, socket=wire, header=[f"{key}: {value}" for key, value in headers.items()])
        wire.settimeout(None)
    except WebSocketBadStatusException as error:
        raise read_refusal(error.status_code, error.resp_body, otherwise=str(error)) from error
    except (*_BROKEN, *OF_THE_CLIENT) as error:
        raise refusal_of(error) from error
    return Tunnel(websocket)


def _connected(api: client.ApiClient) -> Any:
    """Return a socket to the API server that takes the way of every other request: its proxy, its certificates.

    What the client has for websockets knows neither a proxy's password nor time, and other exceptions from proxies.
    """
    pool: Any = api.rest_client.pool_manager.connection_from_url(api.configuration.host)
    connection = pool._new_conn()  # noqa: SLF001 - knows all that leads there
    connection.timeout = _CONNECT_S
    if pool.proxy is None:
        connection.connect()
    else:
        pool._prepare_proxy(connection)  # noqa: SLF001 - connects
    connection.sock.settimeout(_CONNECT_S)
    return connection.sock
