"""The plugin as the host sees it."""

from pathlib import Path

import pytest

from kinetic.host import load_host
from kinetic.testing.log import RecordingLog
from kinetic_core.plugin import DriverContext
from kinetic_gke import plugin, specs
from kinetic_gke.accelerators import listing
from kinetic_gke.backend import GkeBackend
from kinetic_gke.manifest.job import job_manifest
from kinetic_gke.manifest.patch import patched_job
from tests.fakes.plugin_site import PluginSite
from tests.unit.kinetic_gke.manifests import BUNDLED, job_spec

OTHERS = {"KINETIC_DISABLE_PLUGINS": "defaults,fsspec,gitignore,local"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PluginSite:
    directory = tmp_path / "site"
    directory.mkdir()
    monkeypatch.syspath_prepend(str(directory))
    return PluginSite(directory)


def test_it_lists_its_accelerators() -> None:
    host = load_host(OTHERS, log=RecordingLog())
    assert host.problems() == ()
    assert host.accelerators() == tuple(plugin.kinetic_accelerators()) == listing()


def test_it_offers_the_backend_and_opens_it_without_asking_a_cluster(tmp_path: Path) -> None:
    host = load_host(OTHERS, log=RecordingLog())
    (info,) = (one for one in host.plugins() if one.name == "gke")
    assert info.hooks == ("kinetic_accelerators", "kinetic_add_hookspecs", "kinetic_backend_drivers")
    opened = host.open_backend("gke", DriverContext(log=RecordingLog(), environ={}, home=tmp_path))
    assert isinstance(opened, GkeBackend)


def test_another_plugin_patches_the_pods(site: PluginSite) -> None:
    site.install(
        "kinetic-acme",
        """
        @hookimpl(optionalhook=True)
        def kinetic_gke_patch_pod(pod, job):
            return {"spec": {"priorityClassName": job.name.replace("_", "-")}}
        """,
    )
    host = load_host(OTHERS, log=RecordingLog())
    job = job_manifest(job_spec(), BUNDLED)

    patches = host.collect("kinetic_gke_patch_pod", pod=job["spec"]["template"], job=job_spec())

    assert host.problems() == ()
    assert patches == {"acme": {"spec": {"priorityClassName": "train-model"}}}
    assert patched_job(job, patches)["spec"]["template"]["spec"]["priorityClassName"] == "train-model"


def test_where_no_plugin_patches_pods_stay_as_they_are() -> None:
    assert specs.kinetic_gke_patch_pod({"spec": {}}, job_spec()) == {}
