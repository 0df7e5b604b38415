"""What the environment says about a site."""

import attrs
import pytest

from kinetic_core.errors import ConfigError
from kinetic_core.model.request import RunOptions
from kinetic_gke.manifest.site import Site
from kinetic_gke.settings import GkeSettings

OPTIONS = RunOptions(namespace="research")


def test_nothing_said_is_the_defaults() -> None:
    site = GkeSettings.from_environ({"KINETIC_GKE_CPU": " ", "KINETIC_CPU": "9"}).site(
        RunOptions(), image="ours", is_ours=True
    )
    assert site == Site(namespace="default", image="ours", run_as_user=65532)


def test_every_variable_reaches_the_site() -> None:
    said = {
        "SERVICE_ACCOUNT": "trainer",
        "RUNNER_IMAGE": "runner:1",
        "PYTHON": "/opt/bin/python",
        "CPU": "1.5",
        "MEMORY": "4Gi",
        "MOUNT_TOKEN": "Yes",
        "RUN_AS_USER": "1000",
        "TTL": "60",
    }
    settings = GkeSettings.from_environ({f"KINETIC_GKE_{name}": value for name, value in said.items()})
    assert settings.site(OPTIONS, image="python:3.12", is_ours=False, installs_requirements=True) == Site(
        namespace="research",
        image="python:3.12",
        runner_image="runner:1",
        installs_requirements=True,
        python="/opt/bin/python",
        service_account="trainer",
        mounts_token=True,
        run_as_user=1000,
        cpu="1.5",
        memory="4Gi",
        ttl_s=60,
        debug_ttl_s=60,
    )


def test_a_strangers_image_decides_about_its_user_and_is_brought_the_runner() -> None:
    site = GkeSettings(runner_image="runner:1").site(OPTIONS, image="python:3.12", is_ours=False)
    assert (site.run_as_user, site.runner_image) == (None, "runner:1")
    assert GkeSettings(runner_image="runner:1").site(OPTIONS, image="ours", is_ours=True).runner_image == ""


def test_a_strangers_image_without_a_runner_to_bring_is_refused() -> None:
    with pytest.raises(ConfigError, match="KINETIC_GKE_RUNNER_IMAGE"):
        GkeSettings().site(OPTIONS, image="python:3.12", is_ours=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [("CPU", "two"), ("MEMORY", "4GB"), ("MEMORY", "-1Gi"), ("TTL", "soon"), ("RUN_AS_USER", "0"), ("TTL", "²")],
)
def test_a_value_that_means_nothing_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"KINETIC_GKE_{name}='{value}'"):
        GkeSettings.from_environ({f"KINETIC_GKE_{name}": value})


@pytest.mark.parametrize("variable", ["", "mine"])
def test_what_a_profile_says_of_where_jobs_go_holds_unless_a_variable_says_otherwise(variable: str) -> None:
    said = RunOptions(namespace="team", project="p", zone="europe-west4-b", cluster="big")
    settings = GkeSettings.from_environ({"KINETIC_NAMESPACE": variable}, said)
    assert settings.target() == attrs.evolve(said, namespace=variable or "team")
