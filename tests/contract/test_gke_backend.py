"""What a backend promises, asked of the one for clusters, on the test cluster, with the real runner."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinetic.testing import BackendContract, RecordingLog
from kinetic_core.plugin import BackendDriver, DriverContext
from kinetic_gke.cluster.sharing import close_clusters
from kinetic_gke.plugin import kinetic_backend_drivers
from tests.fakes.kube.fixtures import cluster, kubeconfig, room
from tests.fakes.kube.waiting import Room

__all__ = ["cluster", "kubeconfig", "room"]


class TestGke(BackendContract):
    @pytest.fixture
    def driver(self) -> Iterator[BackendDriver]:
        (driver,) = kinetic_backend_drivers()
        yield driver
        close_clusters()

    @pytest.fixture
    def context(self, room: Room, kubeconfig: Path, tmp_path: Path) -> DriverContext:
        environ = {
            "PATH": os.environ["PATH"],
            "KUBECONFIG": str(kubeconfig),
            "KINETIC_NAMESPACE": room.namespace,
            "KINETIC_GKE_CONTEXT": yaml.safe_load(kubeconfig.read_text())["current-context"],
            "UNWANTED": "leak",
        }
        return DriverContext(log=RecordingLog(), environ=environ, home=tmp_path)

    @pytest.fixture
    def job_options(self, room: Room) -> Mapping[str, Any]:
        return {"container_image": "prebuilt", "namespace": room.namespace, "project": "acme"}
