"""Sends recorded requests to a cluster, each when the state is reached in which it was sent."""

import http.client
import json
import re
import socket
import ssl
import threading
import time
from typing import Any, Final

import attrs

from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.recording import Exchange, Seen, Step, steps, subject

PATIENCE_S: Final = 60
_VERSION: Final = re.compile(r"resourceVersion=\d+")


@attrs.frozen(kw_only=True)
class Answer:
    """What came back."""

    status: int
    content_type: str
    body: Any


@attrs.define(kw_only=True)
class Replay:
    """One run of a recording."""

    cluster: Cluster
    tokens: dict[str, str] = attrs.field(factory=dict, repr=False)
    events: dict[str, list[tuple[str, Obj]]] = attrs.field(factory=dict)
    names: dict[str, str] = attrs.field(factory=dict)
    first_version: str = ""
    _watching: list[tuple[http.client.HTTPSConnection, threading.Thread]] = attrs.field(factory=list)

    def connect(self) -> http.client.HTTPSConnection:
        """Return a connection to the cluster."""
        context = ssl.create_default_context(cafile=str(self.cluster.authority))
        return http.client.HTTPSConnection("127.0.0.1", self.cluster.port, context=context, timeout=PATIENCE_S)

    def send(self, exchange: Exchange) -> Answer:
        """Send a recorded request, with this cluster's names in place of the recorded ones."""
        token = self.tokens.get(exchange.label, self.cluster.token)
        headers = {"Authorization": f"Bearer {token}"}
        if exchange.content_type:
            headers["Content-Type"] = exchange.content_type
        body = None if exchange.body is None else json.dumps(exchange.body)
        connection = self.connect()
        try:
            connection.request(exchange.method, self.here(exchange.path), body, headers)
            reply = connection.getresponse()
            raw, kind = reply.read(), reply.headers.get("Content-Type", "")
        finally:
            connection.close()
        parsed = json.loads(raw) if kind == "application/json" else raw.decode()
        return Answer(status=reply.status, content_type=kind, body=parsed)

    def here(self, text: str) -> str:
        """Return a recorded text with the generated names of this run."""
        for recorded_name, name in self.names.items():
            text = text.replace(recorded_name, name)
        return text

    def watch(self, path: str) -> None:
        """Follow a recorded watch from the version at which this run began, as long as the run takes."""
        self.events[path] = []
        connection = self.connect()
        version = f"resourceVersion={self.first_version}"
        connection.request(
            "GET", _VERSION.sub(version, path), headers={"Authorization": f"Bearer {self.cluster.token}"}
        )
        reply = connection.getresponse()
        follower = threading.Thread(target=self._follow, args=(path, reply), daemon=True)
        self._watching.append((connection, follower))
        follower.start()

    def _follow(self, path: str, reply: http.client.HTTPResponse) -> None:
        try:
            while line := reply.readline():
                event = json.loads(line)
                if event["type"] != "BOOKMARK":
                    self.events[path].append((event["type"], event["object"]))
        except (OSError, ValueError, http.client.HTTPException):
            return
        finally:
            reply.close()

    def close(self) -> None:
        """End the watches."""
        for connection, follower in self._watching:
            connection.sock.shutdown(socket.SHUT_RDWR)
            follower.join()
            connection.close()

    def await_state(self, seen: list[Seen]) -> dict[str, tuple[list[Step], list[Step]]]:
        """Wait until each object has come as far as recorded; returns which have not: wanted and found."""
        wanted: dict[str, list[Step]] = {}
        for path in self.events:
            wanted |= steps([(each.happening, each.object) for each in seen if each.path == path])
        end = time.monotonic() + PATIENCE_S
        while True:
            found: dict[str, list[Step]] = {}
            for events in list(self.events.values()):
                found |= steps(list(events))
            behind = {
                name: (taken, found.get(name, []))
                for name, taken in wanted.items()
                if len(found.get(name, [])) < len(taken)
            }
            if not behind or time.monotonic() > end:
                self._learn_names(seen)
                return behind
            time.sleep(0.01)

    def _learn_names(self, seen: list[Seen]) -> None:
        here = {subject(obj): obj["metadata"]["name"] for events in self.events.values() for _, obj in list(events)}
        for each in seen:
            if each.object["kind"] == "Pod":
                self.names[each.object["metadata"]["name"]] = here[subject(each.object)]
