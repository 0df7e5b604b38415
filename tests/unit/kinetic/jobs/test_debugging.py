"""The port on this machine: who connects early waits, who hangs up is let go, and closing closes all."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import attrs
import pytest

from kinetic.jobs.debugging import DebugSession, launch_entry
from kinetic_core.errors import ConfigError, JobNotFoundError


@attrs.define
class Far:
    """The other side, on a pair of sockets."""

    near: socket.socket
    end: socket.socket

    def receive(self) -> bytes:
        return self.near.recv(65536)

    def send(self, data: bytes) -> None:
        self.near.sendall(data)

    def close(self) -> None:
        # Two threads may do so at once.
        with closing(self.near), suppress(OSError):
            self.near.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def far() -> Iterator[Far]:
    made = Far(*socket.socketpair())
    made.end.settimeout(30)
    yield made
    made.near.close()
    made.end.close()


def opened(connect: Callable[[], Any]) -> DebugSession:
    def launch(port: int) -> dict[str, Any]:
        return launch_entry(name="n", root="/here", workspace="/there", port=port)

    return DebugSession("job-0a1b2c3d", launch, connect).open(0)


def connected(session: DebugSession) -> socket.socket:
    return socket.create_connection(("127.0.0.1", session.port), timeout=30)


def test_who_connects_before_anybody_listens_is_led_there_as_soon_as_somebody_does(far: Far) -> None:
    answers = iter([None, far])
    with opened(lambda: next(answers)) as session, connected(session) as here:
        here.sendall(b"hello")
        assert far.end.recv(5) == b"hello"
        far.end.sendall(b"world")
        assert here.recv(5) == b"world"
        far.end.close()
        assert here.recv(1) == b""


def test_the_other_side_is_let_go_when_this_one_hangs_up(far: Far) -> None:
    with opened(lambda: far) as session:
        with connected(session) as here:
            here.sendall(b"bye")
            assert far.end.recv(3) == b"bye"
        assert far.end.recv(1) == b""


def test_closing_closes_the_port_and_every_connection(far: Far) -> None:
    session = opened(lambda: far)
    with connected(session) as here:
        here.sendall(b"x")
        assert far.end.recv(1) == b"x"
        session.close()
        session.close()
        assert here.recv(1) == b""
        assert far.end.recv(1) == b""
        with pytest.raises(OSError, match=r"."):
            connected(session)


def test_a_job_that_is_gone_is_told_of_and_its_connection_ends(caplog: pytest.LogCaptureFixture) -> None:
    def gone() -> None:
        raise JobNotFoundError("no such job")

    with opened(gone) as session, connected(session) as here:
        assert here.recv(1) == b""
    assert "no such job" in caplog.text


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_port_that_cannot_be_had_is_refused_with_the_way_out(*, is_taken: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] if is_taken else 65536
        with pytest.raises(ConfigError, match="name another with local_port="):
            DebugSession("job-0a1b2c3d", lambda port: {}, lambda: None).open(port)


def test_the_entry_has_the_port_and_both_roots(far: Far) -> None:
    with opened(lambda: far) as session:
        assert session.launch["connect"] == {"host": "127.0.0.1", "port": session.port}
        assert session.launch["pathMappings"] == [{"localRoot": "/here", "remoteRoot": "/there"}]
        assert f'"port": {session.port}' in str(session)
