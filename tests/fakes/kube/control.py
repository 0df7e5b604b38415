"""The test's own hand on the cluster: what no API of Kubernetes offers, by POST under one path."""

import threading
from typing import TYPE_CHECKING, Any, Final

from tests.fakes.kube.access import MASTERS, User
from tests.fakes.kube.answers import bad_request
from tests.fakes.kube.images import Image
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.store import Key

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakes.kube.control_plane import ControlPlane

CONTROL_PATH: Final = "/double/"


class RequestLog:
    """Every request that was answered, for tests that count."""

    def __init__(self) -> None:
        self._requests: list[Obj] = []
        self._lock = threading.Lock()

    def note(self, method: str, path: str, user: str, status: int) -> None:
        """Remember a request."""
        with self._lock:
            self._requests.append({"method": method, "path": path, "user": user, "status": status})

    def all(self) -> list[Obj]:
        """Return the requests, in the order in which they were answered."""
        with self._lock:
            return list(self._requests)

    def clear(self) -> None:
        """Forget them."""
        with self._lock:
            self._requests.clear()


class Control:
    """One method for each thing that a test may ask."""

    def __init__(self, plane: "ControlPlane") -> None:
        self._plane = plane
        self._actions: dict[str, Callable[[Obj], Any]] = {
            "clear": self._clear,
            "cut-watches": lambda _: plane.watches.cut_all(),
            "disrupt": self._disrupt,
            "fail-pods": self._fail_pods,
            "fail-requests": plane.faults.add,
            "forget-history": lambda _: plane.store.forget(),
            "forget-requests": lambda _: plane.requests.clear(),
            "image": lambda body: plane.kubelet.images.add(Image(**body)),
            "lose-node": lambda body: plane.kubelet.lose_node(body["node"]),
            "requests": lambda _: plane.requests.all(),
            "restore-node": lambda body: plane.kubelet.restore_node(body["node"]),
            "revoke": lambda body: plane.access.revoke(body["user"]),
            "rotate-log": self._rotate,
            "token": self._token,
        }

    def act(self, name: str, body: Any) -> Obj:
        """Do it; returns `{"result": …}`.

        Raises:
            Refusal: There is no such thing to do, or nothing to do it to.
        """
        action = self._actions.get(name)
        if action is None:
            raise bad_request(f"the test cluster cannot {name}; it can {', '.join(self._actions)}")
        try:
            return {"result": action(body or {})}
        except (KeyError, ValueError) as error:
            raise bad_request(f"{name}: no such {error}") from error

    def _clear(self, _: Obj) -> None:
        self._plane.faults.clear()
        self._plane.pod_faults.clear()
        self._plane.kubelet.images.clear()

    def _fail_pods(self, body: Obj) -> None:
        self._plane.pod_faults.add(body)

    def _disrupt(self, body: Obj) -> None:
        self._plane.kubelet.disrupt(Key("pods", body["namespace"], body["pod"]), body["how"])

    def _rotate(self, body: Obj) -> None:
        pod = self._plane.store.get(Key("pods", body["namespace"], body["pod"]))
        worker = self._plane.kubelet.worker(pod) if pod else None
        if worker is None:
            raise KeyError(body["pod"])
        for log in worker.logs.values():
            log.rotate()

    def _token(self, body: Obj) -> str:
        groups = (MASTERS,) if body.get("admin") else tuple(body.get("groups") or ())
        return self._plane.access.issue(User(body["user"], (*groups, "system:authenticated")))
