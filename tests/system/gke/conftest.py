"""The GKE backend on the test cluster, with the real runner in its pods."""

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic.testing.jobs import make_job, result_of
from kinetic.testing.log import RecordingLog
from kinetic_core.model.job import JobRef, JobSpec, JobState
from kinetic_core.plugin import DriverContext
from kinetic_gke.backend import GkeBackend
from kinetic_gke.cluster.sharing import close_clusters
from tests.fakes.kube.fixtures import cluster, healed, kubeconfig, room
from tests.fakes.kube.waiting import Room
from tests.fakes.servers.stores import CLOUDS, MissingServerError

__all__ = ["cluster", "healed", "kubeconfig", "room"]

# Nothing here may ask a cloud who it is.
os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
os.environ.setdefault("NO_GCE_CHECK", "true")

WAIT_S = 60


@attrs.define
class Gke:
    """A backend in a namespace of the test's own."""

    backend: GkeBackend
    room: Room
    store: Path
    log: RecordingLog
    kubeconfig: Path

    def job(self, function: Callable[..., Any], *args: Any, **options: Any) -> JobSpec:
        """Make a job by hand; the pods of the test cluster see this machine's files."""
        return make_job(
            self.store,
            function,
            *args,
            **{"container_image": "prebuilt", "namespace": self.room.namespace, **options},
        )

    def run(self, spec: JobSpec) -> JobState:
        """Run a job to its end."""
        ref = self.backend.submit(spec)
        list(self.backend.events(ref, timeout_s=WAIT_S))
        return self.backend.status(ref)

    def value(self, spec: JobSpec) -> Any:
        """Return what a job's function returned."""
        return result_of(spec)["result"]

    def log_of(self, ref: JobRef) -> str:
        return "".join(self.backend.logs(ref))


def gke_at(room: Room, kubeconfig: Path, folder: Path, *, namespace: str = "", **environ: str) -> Gke:
    """Return another client's view of a cluster, with a home of its own; `gke` closes what it opens."""
    folder.mkdir(exist_ok=True)
    settings = {"KUBECONFIG": str(kubeconfig), "KINETIC_NAMESPACE": namespace or room.namespace, **environ}
    log = RecordingLog()
    backend = GkeBackend(DriverContext(log=log, environ={"PATH": os.environ["PATH"], **settings}, home=folder))
    return Gke(backend=backend, room=room, store=folder / "store", log=log, kubeconfig=kubeconfig)


@pytest.fixture
def environ(room: Room, kubeconfig: Path, tmp_path: Path) -> dict[str, str]:
    """Return what a client of the test cluster sets, with a store that its pods reach."""
    return {
        "KINETIC_BACKEND": "gke",
        "KINETIC_NAMESPACE": room.namespace,
        "KINETIC_STORAGE": f"file://{tmp_path}/store",
        "KUBECONFIG": str(kubeconfig),
    }


@pytest.fixture
def gke(room: Room, kubeconfig: Path, tmp_path: Path) -> Iterator[Gke]:
    yield gke_at(room, kubeconfig, tmp_path / "client")
    close_clusters()


@attrs.frozen(kw_only=True)
class Bucket:
    """A place on a real server of Cloud Storage's API."""

    url: str
    address: str


@pytest.fixture(scope="session")
def storage_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("gcsfs")
    try:
        with CLOUDS["gs"].server(tmp_path_factory.mktemp("gs")) as address:
            CLOUDS["gs"].make_bucket(address, "kinetic-tests")
            yield address
    except MissingServerError as error:
        pytest.skip(str(error))


@pytest.fixture
def bucket(storage_server: str) -> Bucket:
    return Bucket(url=f"gs://kinetic-tests/{uuid.uuid4().hex}", address=storage_server)
