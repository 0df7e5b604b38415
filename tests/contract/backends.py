"""The backends under contract: how each is opened, and what jobs it takes."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from kinetic_core.model.job import JobSpec
from kinetic_core.plugin import Backend, DriverContext
from kinetic_gke.cluster.sharing import close_clusters
from kinetic_gke.plugin import kinetic_backend_drivers as gke_drivers
from kinetic_local.plugin import kinetic_backend_drivers as local_drivers
from tests.fakes.hand_made_job import make_job as make_any_job
from tests.fakes.kube.waiting import Room
from tests.fakes.recording_log import RecordingLog

MakeJob = Callable[..., JobSpec]
OF_THE_DOUBLE = "a process with a session of its own outlives its container on the test cluster, and on no other"
NOT_ON_A_CLUSTER = {
    "test_a_process_that_leaves_without_a_result_failed": "a cluster does not look into the store; the client does",
    "test_cancelling_ends_every_process_of_the_job": f"{OF_THE_DOUBLE}; and a cluster gives pods their grace period",
    "test_processes_that_a_job_leaves_behind_end_with_it": OF_THE_DOUBLE,
}


@pytest.fixture(params=["local", "gke"])
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "gke" and (reason := NOT_ON_A_CLUSTER.get(request.node.originalname)):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    opened: Backend = request.getfixturevalue(f"{request.param}_backend")
    return opened


@pytest.fixture
def local_backend(tmp_path: Path, private_temp: Path) -> Iterator[Backend]:
    """A backend whose jobs, processes and temporary files must all be gone in the end."""
    (driver,) = local_drivers()
    home = tmp_path / "home"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(private_temp), "UNWANTED": "leak"}
    opened = driver.open(DriverContext(log=RecordingLog(), environ=environ, home=home))
    yield opened
    for ref in opened.find():
        opened.cancel(ref)
    assert list(private_temp.iterdir()) == []


@pytest.fixture
def gke_backend(room: Room, kubeconfig: Path, tmp_path: Path) -> Iterator[Backend]:
    """A backend in a namespace of the test's own, on the test cluster."""
    (driver,) = gke_drivers()
    environ = {
        "PATH": os.environ["PATH"],
        "KUBECONFIG": str(kubeconfig),
        "KINETIC_NAMESPACE": room.namespace,
        "UNWANTED": "leak",
    }
    opened = driver.open(DriverContext(log=RecordingLog(), environ=environ, home=tmp_path))
    yield opened
    close_clusters()


@pytest.fixture
def make_job(request: pytest.FixtureRequest) -> MakeJob:
    """Make a job by hand, which the backend under test takes."""
    if request.node.callspec.params["backend"] == "local":
        return make_any_job
    room: Room = request.getfixturevalue("room")
    return partial(make_any_job, container_image="prebuilt", namespace=room.namespace)
