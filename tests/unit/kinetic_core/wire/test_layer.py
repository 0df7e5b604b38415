"""Recipes: written, read, refused."""

import json
from typing import Any

import pytest

from kinetic_core.wire.layer import RECIPE_PATH, Part, Recipe, Source, read_recipe
from kinetic_core.wire.zipdirectory import Directory
from tests.unit.kinetic_core.wire.archives import mapped, zipped

RECIPE = Recipe(
    sha256="ab" * 32,
    size_bytes=1000,
    sources=(Source("context.zip", "cd" * 32, 900), Source("ef.layer", "ef" * 32, 20)),
    parts=(Part(0, 0, 5), Part(2, 0, 1), Part(1, 3, 2)),
    end=b"PK\5\6",
)


def layer(recipe: bytes, name: str = RECIPE_PATH) -> Directory:
    return Directory(mapped(zipped({"a.py": b"a", name: recipe})))


def test_a_recipe_is_read_as_it_was_written() -> None:
    assert Recipe.from_bytes(RECIPE.to_bytes()) == RECIPE
    assert read_recipe(layer(RECIPE.to_bytes())) == RECIPE


def changed(**more: Any) -> bytes:
    return json.dumps({**json.loads(RECIPE.to_bytes()), **more}).encode()


def test_keys_that_a_later_client_adds_are_passed_over() -> None:
    assert Recipe.from_bytes(changed(later=1)) == RECIPE


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        changed(parts=[1, 2]),
        changed(parts=["x", 2, 3]),
        changed(sources=[["context.zip"]]),
        changed(sources=3),
        changed(end="x"),
        b"[" * 100_000,
    ],
)
def test_what_is_no_recipe_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="it holds no recipe of format 1"):
        Recipe.from_bytes(data)


def test_a_later_format_is_named() -> None:
    with pytest.raises(ValueError, match="its recipe is of format 2; this runner reads format 1"):
        Recipe.from_bytes(changed(format=2))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (layer(RECIPE.to_bytes(), "other"), "it does not end with a recipe"),
        (Directory(mapped(zipped({}))), "it does not end with a recipe"),
    ],
)
def test_what_is_no_layer_is_refused(made: Directory, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_recipe(made)


def test_a_recipe_that_does_not_unpack_is_refused() -> None:
    data = bytearray(zipped({RECIPE_PATH: RECIPE.to_bytes()}))
    data[30 + len(RECIPE_PATH)] = 0xFF
    with pytest.raises(ValueError, match="its recipe is damaged"):
        read_recipe(Directory(mapped(bytes(data))))
