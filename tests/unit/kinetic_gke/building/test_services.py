"""Where the services answer."""

from kinetic_gke.building.services import Services


def test_the_services_are_googles_unless_gclouds_variables_say_otherwise() -> None:
    services = Services.from_environ({"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": "http://127.0.0.1:1/"})
    assert services.builds.url == "https://cloudbuild.googleapis.com"
    assert services.registry.url == "https://artifactregistry.googleapis.com"
    assert services.storage.url == "http://127.0.0.1:1"
