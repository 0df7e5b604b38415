"""Where images lie in Artifact Registry."""

import pytest

from kinetic_gke.building.shelf import Shelf, region_of


@pytest.mark.parametrize(
    ("zone", "region"),
    [("us-central1-a", "us-central1"), ("europe-west4-b", "europe-west4"), ("us-central1", "us-central1"), ("x", "x")],
)
def test_the_region_follows_from_the_zone(zone: str, region: str) -> None:
    assert region_of(zone) == region


def test_the_project_of_a_domain_is_written_as_docker_wants_it() -> None:
    shelf = Shelf(project="example.com:acme", location="us-east1", image="bundled-cpu")
    assert shelf.uri("1") == "us-east1-docker.pkg.dev/example.com/acme/kinetic/bundled-cpu:1"
    assert shelf.parent == "projects/example.com:acme/locations/us-east1"
