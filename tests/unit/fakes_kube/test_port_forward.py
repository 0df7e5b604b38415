"""Port forwarding through the official client."""

import socket
from contextlib import closing
from typing import Any

import pytest
from kubernetes.stream import portforward

from tests.fakes.kube.bodies import job
from tests.fakes.kube.objects import name_of
from tests.fakes.kube.waiting import Room, until

ECHO = """
import socket
with socket.create_server(("127.0.0.1", {port})) as server:
    print("up", flush=True)
    taken, _ = server.accept()
    with taken:
        while data := taken.recv(65536):
            taken.sendall(data.upper())
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
    return found


def test_bytes_go_to_a_pods_port_and_back(room: Room) -> None:
    port = free_port()
    room.create(job("echo", ECHO.format(port=port)))
    name = name_of(room.pod("echo", "Running"))
    until(lambda: room.log(name) == "up\n")
    forward: Any = portforward(room.core.connect_get_namespaced_pod_portforward, name, room.namespace, ports=str(port))
    payload = b"kinetic" * 30_000
    with closing(forward.socket(port)) as end:
        end.setblocking(True)
        end.sendall(payload)
        back = b""
        while len(back) < len(payload):
            back += end.recv(65536)
    assert back == payload.upper()
    assert forward.error(port) is None
    assert room.finished("echo")["status"]["succeeded"] == 1


def test_a_port_on_which_nobody_listens_is_an_error_of_that_port(room: Room) -> None:
    room.create(job("deaf", "import time; time.sleep(600)"))
    name = name_of(room.pod("deaf", "Running"))
    port = free_port()
    forward: Any = portforward(room.core.connect_get_namespaced_pod_portforward, name, room.namespace, ports=str(port))
    with closing(forward.socket(port)) as end:
        end.setblocking(True)
        assert end.recv(1) == b""
    assert f"error forwarding port {port}" in forward.error(port)


def test_a_pod_that_does_not_run_has_no_ports(room: Room) -> None:
    room.create(job("over", ""))
    room.finished("over")
    name = name_of(room.pod("over"))
    # The client of 36.x trips over the refusal, which has no body for it.
    with pytest.raises(Exception, match=r"400|'decode'"):
        portforward(room.core.connect_get_namespaced_pod_portforward, name, room.namespace, ports="1")
