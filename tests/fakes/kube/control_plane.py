"""All parts of the cluster, put together."""

from pathlib import Path
from typing import Final

from tests.fakes.kube.access import Access
from tests.fakes.kube.api import Api, Options, Target
from tests.fakes.kube.control import Control, RequestLog
from tests.fakes.kube.events import NODE, Recorder
from tests.fakes.kube.extensions import Webhooks
from tests.fakes.kube.faults import Faults
from tests.fakes.kube.kubelet import Kubelet
from tests.fakes.kube.manager import Components, Manager
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.pace import Pace
from tests.fakes.kube.pod_faults import PodFaults
from tests.fakes.kube.resources import Catalog
from tests.fakes.kube.store import Store
from tests.fakes.kube.watching import Watches

_NAMESPACES: Final = ("default", "kube-system")


class ControlPlane:
    """The store, the controllers on it, the kubelet, and the verbs that the front calls."""

    def __init__(self, *, root: Path, pace: Pace, rotate_every: int) -> None:
        self.store = Store()
        self.catalog = Catalog()
        self.faults = Faults()
        self.pod_faults = PodFaults()
        self.requests = RequestLog()
        self.access = Access(self.store)
        self.watches = Watches(self.store, pace)
        self.api = Api(self.store, self.catalog, Webhooks(self.pod_faults))
        recorder = Recorder(self.store)
        self.kubelet = Kubelet(
            store=self.store, recorder=recorder, pace=pace, faults=self.pod_faults, root=root, rotate_every=rotate_every
        )
        components = Components(
            store=self.store,
            catalog=self.catalog,
            recorder=recorder,
            pace=pace,
            pod_faults=self.pod_faults,
            admit_pod=self.api.admit_pod,
        )
        self._manager = Manager(components, self.kubelet)
        self.kubelet.settle = self._manager.wait_settled
        self.control = Control(self)

    def start(self) -> None:
        """Begin with what a new cluster has: its namespaces and one node."""
        for name in _NAMESPACES:
            self._create("namespaces", "Namespace", name)
        self._create("nodes", "Node", NODE)
        self._manager.start()

    def _create(self, plural: str, kind: str, name: str) -> Obj:
        target = Target(resource=self.catalog.find("", "v1", plural))
        return self.api.create(target, {"kind": kind, "apiVersion": "v1", "metadata": {"name": name}}, Options())

    def stop(self) -> None:
        """End every process, then the controllers."""
        self.kubelet.stop()
        self._manager.stop()
