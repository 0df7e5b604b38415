"""The image of a job is the backend's affair, where it says so."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kinetic.submission.image import begin_image
from kinetic_core.errors import ConfigError
from kinetic_core.model.package import Artifact, Manifest, Package, PackageRoot
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import Backend, BackendDriver, Capability

ROOT = PackageRoot(path=Path("/p"), step="marker", reason="", trail=(), entry=Path("/p"))
ARTIFACT = Artifact(path=Path("/p/x"), size_bytes=1, sha256="0" * 64)
PACKAGE = Package(
    root=ROOT, plan={}, context=ARTIFACT, payload=ARTIFACT, manifest=Manifest(entries=()), dependencies="numpy\n"
)


def begun(answer: Callable[[RunOptions, Package], Any], *capabilities: Capability) -> str:
    driver = BackendDriver(name="slurm", open=lambda context: context, capabilities=capabilities)  # type: ignore[arg-type,return-value]  # it is never opened
    backend = cast("Backend", SimpleNamespace(begin_image=answer))
    return begin_image(driver, backend, RunOptions(accelerator="cpu"), PACKAGE)()


def test_a_backend_is_told_what_the_image_must_have() -> None:
    assert begun(
        lambda options, package: lambda: f"{options.accelerator} {package.dependencies}", Capability.IMAGES
    ) == ("cpu numpy\n")


def test_a_backend_that_makes_no_images_is_not_asked() -> None:
    assert begun(lambda options, package: pytest.fail("asked")) == ""


def test_a_refusal_names_the_step() -> None:
    def refuse(options: RunOptions, package: Package) -> Any:
        raise ConfigError("no")

    with pytest.raises(ConfigError) as raised:
        begun(refuse, Capability.IMAGES)
    assert raised.value.__notes__ == ["while submitting, at the step 'make image'"]
