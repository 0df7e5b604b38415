"""Images are made once: looked for, joined where they are being made, and built where they are not there."""

import tarfile
import threading

import attrs
import pytest

from kinetic_core.errors import ConfigError, SubmissionError
from kinetic_core.model.request import RunOptions
from kinetic_gke.building.recipe import DEPENDENCIES, DOCKERFILE
from tests.fakes.google.server import Google, until_asked
from tests.unit.kinetic_gke.building.conftest import OPTIONS, Client, client_at, package

REPOSITORIES = "/v1/projects/acme/locations/us-central1/repositories"
BUILDS = "/v1/projects/acme/builds"


def test_an_image_that_is_not_there_is_built_and_stored(google: Google, client: Client) -> None:
    uri = client.make()
    place, _, tag = uri.rpartition(":")
    assert place == "us-central1-docker.pkg.dev/acme/kinetic/bundled-cpu"
    (build,) = google.builds.made
    assert build.raw["images"] == [uri]
    with tarfile.open(build.context) as context:
        assert sorted(context.getnames()) == [DOCKERFILE, DEPENDENCIES]
        listed = context.extractfile(DEPENDENCIES)
        assert listed is not None
        assert listed.read() == b"numpy>=2\n"
    assert google.registry.tag(REPOSITORIES[4:] + "/kinetic", "bundled-cpu", tag)
    assert (client.log.events("warning"), client.log.events("info")) == (["image_build_awaited"], ["image_built"])


def test_an_image_that_is_there_is_not_built_again(google: Google, client: Client) -> None:
    uri = client.make()
    google.requests.clear()
    assert client.make() == uri
    assert google.requests == [f"GET {REPOSITORIES}/kinetic/packages/bundled-cpu/tags/{uri.rpartition(':')[2]}"]
    assert client.log.events("info")[-1] == "image_found"


def test_what_differs_is_another_image_in_the_same_repository(google: Google, client: Client) -> None:
    wishes = [None, "", "numpy>=2\n"]
    made = [client.make(one) for one in wishes]
    made.append(client.make(options=attrs.evolve(OPTIONS, accelerator="l4")))
    assert made[0] == made[1]
    assert len(set(made)) == 3
    assert google.requests.count(f"POST {REPOSITORIES}") == 1


@pytest.mark.parametrize(
    ("store", "extras"),
    [("gs://b/jobs", "gcs"), ("s3://b/jobs", "gcs,s3"), ("abfs://b/jobs", "gcs,azure"), ("file:///store", "gcs")],
)
def test_the_image_can_reach_the_jobs_store(google: Google, client: Client, store: str, extras: str) -> None:
    client.make(options=attrs.evolve(OPTIONS, storage=store))
    with tarfile.open(google.builds.made[0].context) as context:
        dockerfile = context.extractfile(DOCKERFILE)
        assert dockerfile is not None
        assert f"'kinetic-run[{extras},debug]==" in dockerfile.read().decode()


def test_another_client_may_create_the_repository_first(google: Google, client: Client) -> None:
    google.fail("POST", "repositories$", 409, times=1, message="the repository already exists")
    google.registry.create(REPOSITORIES[4:].removesuffix("/repositories"), "kinetic", {"format": "DOCKER"})
    for _ in range(2):
        google.registry.operation("projects/acme/locations/us-central1/operations/kinetic")
    google.fail("GET", "repositories/kinetic$", 404, times=1)
    assert client.make()


def test_a_running_build_is_joined_whoever_started_it(google: Google, client: Client) -> None:
    google.builds.may_run.clear()
    first = client.bundler.begin(OPTIONS, package("numpy>=2\n"))
    until_asked(google, f"POST {BUILDS}")
    # To this process, another address is another service.
    elsewhere = {name: url.replace("127.0.0.1", "localhost") for name, url in google.environ().items()}
    second = client_at(elsewhere).bundler.begin(OPTIONS, package("numpy>=2\n"))
    asked = google.requests.count(f"GET {BUILDS}")
    until_asked(google, f"GET {BUILDS}/", times=asked + 2)
    google.builds.may_run.set()
    assert first() == second()
    assert len(google.builds.made) == 1


def test_one_process_asks_once_for_what_many_threads_want(google: Google, client: Client) -> None:
    google.builds.may_run.clear()
    waits = [client.bundler.begin(OPTIONS, package("numpy>=2\n")) for _ in range(8)]
    threads = [threading.Thread(target=wait) for wait in waits]
    for thread in threads:
        thread.start()
    google.builds.may_run.set()
    for thread in threads:
        thread.join()
    assert google.requests.count(f"GET {BUILDS}") == 1


def test_a_build_that_failed_is_tried_again_by_the_next_job(google: Google, client: Client) -> None:
    google.builds.trouble = "ERROR: No matching distribution found for nunpy"
    with pytest.raises(SubmissionError):
        client.make()
    google.builds.trouble = ""
    assert client.make()


def test_a_build_for_another_region_is_not_joined(google: Google, client: Client) -> None:
    google.builds.may_run.clear()
    first = client.bundler.begin(OPTIONS, package(None))
    until_asked(google, f"POST {BUILDS}")
    second = client.bundler.begin(attrs.evolve(OPTIONS, zone="europe-west4-b"), package(None))
    until_asked(google, f"POST {BUILDS}", times=2)
    google.builds.may_run.set()
    assert first().startswith("us-central1-")
    assert second().startswith("europe-west4-")


def test_without_a_project_no_image_can_be_built(client: Client) -> None:
    with pytest.raises(ConfigError, match="no project is named to build it in: set project= or KINETIC_PROJECT"):
        client.bundler.check(RunOptions(accelerator="cpu"))


def test_images_for_arm_machines_are_refused(client: Client) -> None:
    with pytest.raises(ConfigError, match="with 'gb200' are Arm: name an image"):
        client.bundler.check(attrs.evolve(OPTIONS, accelerator="gb200"))
    client.bundler.check(attrs.evolve(OPTIONS, accelerator="l4"))


def test_each_who_waits_gets_an_error_of_his_own(google: Google, client: Client) -> None:
    google.builds.may_run.clear()
    google.builds.trouble = "ERROR"
    waits = [client.bundler.begin(OPTIONS, package(None)) for _ in range(2)]
    google.builds.may_run.set()
    for wait in waits:
        with pytest.raises(SubmissionError) as raised:
            wait()
        assert not hasattr(raised.value, "__notes__")
        raised.value.add_note("while submitting")
