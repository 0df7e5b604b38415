"""Logs; those that take only `room` run against any cluster."""

from typing import Any

import pytest
from kubernetes.client import ApiException
from urllib3.exceptions import ProtocolError

from tests.fakes.kube.bodies import container, job
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import name_of
from tests.fakes.kube.waiting import Room, until

SLOW = "import time\nfor i in range(4):\n    print('line', i)\n    time.sleep(0.3)"
# Waits until a file comes, of which the test knows the place.
GATE = "import pathlib, time\nprint('one')\nwhile not pathlib.Path({gate!r}).exists(): time.sleep(0.02)\nprint('two')"


def finished(room: Room, name: str, script: str) -> str:
    """Run a script to its end; return its pod's name."""
    room.create(job(name, script))
    room.finished(name)
    return name_of(room.pod(name))


def test_a_log_is_followed_to_the_containers_end(room: Room) -> None:
    room.create(job("slow", SLOW))
    name = name_of(room.pod("slow", "Running"))
    reply = room.core.read_namespaced_pod_log(name, room.namespace, follow=True, _preload_content=False)
    assert reply.read() == b"line 0\nline 1\nline 2\nline 3\n"
    reply.release_conn()


def test_a_log_has_a_tail_a_limit_and_times(room: Room) -> None:
    name = finished(room, "tail", "print('one'); print('two'); print('three')")
    assert room.log(name, tail_lines=1) == "three\n"
    assert room.log(name, limit_bytes=5) == "one\nt"
    assert room.log(name, since_seconds=3600).count("\n") == 3
    moment, text = room.log(name, timestamps=True, tail_lines=1).split(" ", 1)
    assert (moment[-1], text) == ("Z", "three\n")


def test_a_last_line_without_an_end_is_kept_as_it_is(room: Room) -> None:
    assert room.log(finished(room, "open", "print('a'); print('b', end='')")) == "a\nb"


def test_errors_and_output_are_one_log(room: Room) -> None:
    name = finished(room, "both", "import sys; print('out'); print('err', file=sys.stderr)")
    assert sorted(room.log(name).splitlines()) == ["err", "out"]


def test_a_pod_of_several_containers_wants_one_named(room: Room) -> None:
    pod: dict[str, Any] = {"containers": [container("print('a')", "a"), container("print('b')", "b")]}
    room.create(job("two", "", pod=pod))
    room.finished("two")
    name = name_of(room.pod("two"))
    assert room.log(name, container="b") == "b\n"
    with pytest.raises(ApiException) as raised:
        room.log(name)
    assert raised.value.status == 400
    assert "a container name must be specified" in str(raised.value.body)


def test_a_log_that_rotated_begins_with_the_new_file_and_followers_go_on(
    healed: Cluster, room: Room, tmp_path: Any
) -> None:
    gate = tmp_path / "gate"
    room.create(job("turn", GATE.format(gate=str(gate))))
    name = name_of(room.pod("turn", "Running"))
    until(lambda: room.log(name) == "one\n")
    reply = room.core.read_namespaced_pod_log(name, room.namespace, follow=True, _preload_content=False)
    healed.act("rotate-log", namespace=room.namespace, pod=name)
    assert room.log(name) == ""
    gate.touch()
    assert reply.read() == b"one\ntwo\n"
    reply.release_conn()
    room.finished("turn")
    assert room.log(name) == "two\n"


def test_glyphs_are_torn_where_a_test_asks_for_it(healed: Cluster, room: Room) -> None:
    name = finished(room, "glyph", "print('häß €')")
    healed.fail_requests(path=f"{name}/log", piece=1)
    reply = room.core.read_namespaced_pod_log(name, room.namespace, follow=True, _preload_content=False)
    pieces = list(reply.stream(1))
    assert b"".join(pieces).decode() == "häß €\n"
    assert b"\xc3" in pieces
    reply.release_conn()


def test_a_log_stream_breaks_where_a_test_asks_for_it(healed: Cluster, room: Room) -> None:
    name = finished(room, "broken", "print('one'); print('two')")
    healed.fail_requests(path=f"{name}/log", cut_after=1, times=1)
    reply = room.core.read_namespaced_pod_log(name, room.namespace, follow=True, _preload_content=False)
    with pytest.raises(ProtocolError):
        reply.read()
    reply.close()
    assert room.log(name) == "one\ntwo\n"
