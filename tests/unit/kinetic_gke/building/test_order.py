"""What Cloud Build is asked to do; the step is really run, with a `docker` that keeps what it is handed."""

import base64
import os
import random
import subprocess
import tarfile
from pathlib import Path

import attrs
import pytest

from kinetic_core.errors import ConfigError
from kinetic_gke.building.order import mark, order
from tests.unit.kinetic_gke.building.recipes import CASES

URI = "us-central1-docker.pkg.dev/acme/kinetic/bundled-cpu:0f3a"
CPU = CASES["cpu"]
DOCKER = '#!/bin/sh\necho "$*" > "$KEPT/arguments"\ncat > "$KEPT/context.tar.gz"\n'


def noise(characters: int) -> str:
    """Return text that no compressor makes shorter than three quarters."""
    return base64.b64encode(random.Random(1).randbytes(characters * 3 // 4)).decode()


@pytest.mark.parametrize("dependencies", ["", CPU.dependencies, f"{noise(400_000)}\n"], ids=["none", "few", "many"])
def test_docker_is_handed_the_files(tmp_path: Path, dependencies: str) -> None:
    recipe = attrs.evolve(CPU, dependencies=dependencies)
    docker = tmp_path / "docker"
    docker.write_text(DOCKER, encoding="utf-8")
    docker.chmod(0o755)
    (step,) = order(URI, recipe)["steps"]
    # What Cloud Build makes of it.
    arguments = [one.replace("$$", "$") for one in step["args"]]
    environ = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "KEPT": str(tmp_path)}
    subprocess.run([step["entrypoint"], *arguments], env=environ, check=True)
    assert (tmp_path / "arguments").read_text(encoding="utf-8") == f"build --progress=plain --tag {URI} -\n"
    with tarfile.open(tmp_path / "context.tar.gz") as context:
        context.extractall(tmp_path / "context", filter="data")
    found = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "context").iterdir()}
    assert found == recipe.files


def test_no_argument_is_longer_and_none_more_than_cloud_build_takes() -> None:
    (step,) = order(URI, attrs.evolve(CPU, dependencies=noise(800_000)))["steps"]
    assert max(map(len, step["args"])) <= 10_000
    assert len(step["args"]) <= 100


def test_a_dependency_file_that_no_build_takes_is_refused() -> None:
    with pytest.raises(ConfigError, match="1200000 characters, is too long"):
        order(URI, attrs.evolve(CPU, dependencies=noise(1_200_000)))


def test_the_image_is_stored_and_the_build_is_found_by_its_recipe() -> None:
    asked = order(URI, CPU)
    assert asked["images"] == [URI]
    assert asked["tags"] == ["kinetic", mark(CPU)]
    assert asked == order(URI, attrs.evolve(CPU))
