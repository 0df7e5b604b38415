"""Which image a job runs in."""

from importlib.metadata import version

import pytest

from kinetic_core.errors import ConfigError
from kinetic_core.model.request import RunOptions
from kinetic_gke.images import Image, image_of, is_bundled

BUILT = "us-central1-docker.pkg.dev/acme/kinetic/bundled-cpu:0f3a"


@pytest.mark.parametrize("said", [None, "bundled"])
def test_a_job_that_names_no_image_runs_in_the_one_that_was_built(said: str | None) -> None:
    options = RunOptions(accelerator="cpu", container_image=said)
    assert is_bundled(options)
    assert image_of(options, BUILT) == Image(uri=BUILT, is_ours=True)
    with pytest.raises(ConfigError, match="no image was built for this job: name one"):
        image_of(options)


@pytest.mark.parametrize(("accelerator", "kind"), [("cpu", "cpu"), ("l4", "gpu"), ("v5litepod-4", "tpu")])
def test_a_prebuilt_image_is_this_versions_and_installs_the_dependency_file(accelerator: str, kind: str) -> None:
    options = RunOptions(accelerator=accelerator, container_image="prebuilt")
    uri = f"kinetic/base-{kind}:{version('kinetic-run')}"
    assert image_of(options) == Image(uri=uri, is_ours=True, installs_requirements=True)
    assert not is_bundled(options)


def test_any_other_text_is_an_image_of_somebodys_own() -> None:
    assert image_of(RunOptions(accelerator="cpu", container_image="python:3.12")) == Image(
        uri="python:3.12", is_ours=False
    )
