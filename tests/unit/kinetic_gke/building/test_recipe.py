"""What an image is made of, and what it is called: the same for the same wishes, and never for others."""

from typing import Any

import attrs
import pytest

from kinetic_gke.building.recipe import DEPENDENCIES, DOCKERFILE
from tests.unit.kinetic_gke.building.recipes import CASES, GOLDEN, written

CPU = CASES["cpu"]


@pytest.mark.parametrize("name", CASES)
def test_the_dockerfile_and_the_tag_are_those_that_were_last_looked_at(name: str) -> None:
    # `python -m tests.unit.kinetic_gke.building.recipes` writes them anew.
    assert written(CASES[name]) == GOLDEN.joinpath(f"{name}.Dockerfile").read_text(encoding="utf-8")


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.Dockerfile")} == set(CASES)


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "gpu"},
        {"kind": "tpu"},
        {"python": "3.11"},
        {"version": "0.1.1"},
        {"extras": ("gcs", "s3")},
        {"dependencies": "numpy>=2\n"},
    ],
    ids=str,
)
def test_whatever_differs_gives_another_tag(other: dict[str, Any]) -> None:
    assert attrs.evolve(CPU, **other).tag != CPU.tag
    assert attrs.evolve(CPU).tag == CPU.tag


def test_the_users_dependencies_travel_as_they_are() -> None:
    listed = "--extra-index-url https://example.com\nnumpy==2.0 --hash=sha256:00 # $HOME 'ü'\n"
    assert attrs.evolve(CPU, dependencies=listed).files[DEPENDENCIES] == listed
    assert DEPENDENCIES not in CASES["cpu-bare"].files[DOCKERFILE]


def test_a_recipe_shows_no_index_and_its_password() -> None:
    assert "hunter2" not in repr(attrs.evolve(CPU, dependencies="-i https://me:hunter2@example.com\n"))


def test_the_image_runs_as_a_user_that_is_not_root() -> None:
    lines = CPU.files[DOCKERFILE].splitlines()
    assert [line for line in lines if line.startswith("USER")] == ["USER 65532:65532"]
    assert lines.index("USER 65532:65532") > max(at for at, line in enumerate(lines) if line.startswith("RUN"))
