"""Google's services on this machine, and clients of them that are in a hurry."""

import os
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from kinetic.testing.log import RecordingLog
from kinetic_core.model.package import Artifact, Manifest, Package, PackageRoot
from kinetic_core.model.request import RunOptions
from kinetic_gke.building.bundler import Bundler
from kinetic_gke.building.services import Services
from kinetic_gke.settings import GkeSettings
from tests.fakes.google.server import Google, running_google

OPTIONS = RunOptions(accelerator="cpu", project="acme", zone="us-central1-a")


@attrs.frozen
class Client:
    """One client of the services."""

    bundler: Bundler
    log: RecordingLog

    def make(self, dependencies: str | None = "numpy>=2\n", options: RunOptions = OPTIONS) -> str:
        return self.bundler.begin(options, package(dependencies))()


def client_at(environ: dict[str, str]) -> Client:
    log = RecordingLog()
    return Client(Bundler(settings=GkeSettings(), services=Services.from_environ(environ), log=log), log)


def package(dependencies: str | None) -> Package:
    root = PackageRoot(path=Path("/p"), step="marker", reason="", trail=(), entry=Path("/p"))
    artifact = Artifact(path=Path("/p/x"), size_bytes=1, sha256="0" * 64)
    return Package(
        root=root, plan={}, context=artifact, payload=artifact, manifest=Manifest(entries=()), dependencies=dependencies
    )


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Google]:
    for name in ("builds._FIRST_PAUSE_S", "registry._PAUSE_S", "google._FIRST_PAUSE_S", "google._LONGEST_PAUSE_S"):
        monkeypatch.setattr(f"kinetic_gke.building.{name}", 0.01)
    for name in os.environ:
        if name.startswith(("GOOGLE_", "CLOUDSDK_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    with running_google(tmp_path / "google") as running:
        for name, value in running.environ().items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def client(google: Google) -> Client:
    return client_at(google.environ())
