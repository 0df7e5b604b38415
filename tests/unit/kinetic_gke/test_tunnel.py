"""A tunnel on a pair of sockets: what keeps it open, and what ends it."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest
from kubernetes import client
from websocket import WebSocket

from kinetic_gke.cluster.refusal import Refusal
from kinetic_gke.cluster.tunnel import Tunnel, open_tunnel


@attrs.define
class Ends:
    """A tunnel, and the server's end of its websocket."""

    tunnel: Tunnel
    server: socket.socket

    def opcode(self) -> int:
        """Return what kind of frame comes next; it carries nothing, and is masked."""
        head = self.server.recv(6)
        assert (len(head), head[1]) == (6, 0x80)
        return head[0] & 0x0F

    def frame(self, opcode: int, payload: bytes = b"") -> None:
        self.server.sendall(struct.pack(">BB", 0x80 | opcode, len(payload)) + payload)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    monkeypatch.setattr("kinetic_gke.cluster.tunnel._PING_S", 0.05)
    here, there = socket.socketpair()
    there.settimeout(30)
    websocket = WebSocket()
    websocket.sock = here
    yield Ends(Tunnel(websocket), there)
    here.close()
    there.close()


def test_a_tunnel_in_which_nothing_happens_is_kept_open(ends: Ends) -> None:
    def server() -> None:
        for _ in range(5):
            assert ends.opcode() == 9
            ends.frame(10)
        ends.frame(2, b"\x00\x16\x00")
        ends.frame(2, b"\x00hello")

    thread = threading.Thread(target=server, daemon=True)
    thread.start()
    assert ends.tunnel.receive() == b"hello"
    thread.join(30)
    assert ends.tunnel.error == ""


def test_a_tunnel_whose_other_end_is_gone_without_a_word_ends(ends: Ends) -> None:
    assert ends.tunnel.receive() == b""
    assert ends.tunnel.error.startswith("nothing was heard for ")
    assert [ends.opcode(), ends.opcode()] == [9, 9]


def test_a_server_that_takes_a_connection_and_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetic_gke.cluster.tunnel._CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        configuration = client.Configuration()
        for scheme in ("http", "https"):
            configuration.host = f"{scheme}://127.0.0.1:{deaf.getsockname()[1]}"
            with client.ApiClient(configuration) as api, pytest.raises(Refusal) as refused:
                open_tunnel(api, "default", "pod", 5678)
            assert refused.value.may_pass
            api.rest_client.pool_manager.clear()


def test_a_tunnel_is_closed_by_two_threads_at_once() -> None:
    class Slow(WebSocket):
        """Gives the other thread the time that a busy machine would."""

        def shutdown(self) -> None:
            if self.sock:
                time.sleep(0.05)
                self.sock.close()
                self.sock = None

    here, there = socket.socketpair()
    websocket = Slow()
    websocket.sock = here
    tunnel = Tunnel(websocket)
    with there, ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: tunnel.close(), range(2))) == [None, None]
