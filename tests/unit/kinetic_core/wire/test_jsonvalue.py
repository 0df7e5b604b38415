"""Which values JSON carries, and how the others are named."""

import enum
from collections import OrderedDict
from typing import Any

import pytest

from kinetic_core.wire.jsonvalue import json_problem


class Colour(enum.IntEnum):
    RED = 1


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("value", [None, True, 1, 2.5, "é", [], (1, (2,)), {"a": {"b": [None]}}])
def test_plain_values_and_nestings_travel(value: Any) -> None:
    assert json_problem(value, "argument 0") is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({1, 2}, "argument 0 is a set"),
        (object(), "argument 0 is an object"),
        (b"x", "argument 0 is a bytes"),
        (float("nan"), "argument 0 is nan"),
        ([1, float("inf")], "argument 0[1] is inf"),
        ({"a": [{"b": {1}}]}, "argument 0['a'][0]['b'] is a set"),
        ({1: 2}, "argument 0 has the key 1, which is no text"),
        ([{"a": {None: 2}}], "argument 0[0]['a'] has the key None, which is no text"),
        (OrderedDict(), "argument 0 is an OrderedDict"),
        (Colour.RED, "argument 0 is a Colour"),
        ({"k" * 100: {1}}, f"argument 0['{'k' * 79}…] is a set"),
        ({Mute(): 1}, "argument 0 has the key <Mute>, which is no text"),
    ],
)
def test_others_are_named_by_position_and_type(value: Any, problem: str) -> None:
    assert json_problem(value, "argument 0") == problem


def test_a_circular_reference_is_named() -> None:
    loop: dict[str, Any] = {"a": []}
    loop["a"].append(loop)
    assert json_problem(loop, "x") == "x['a'][0] is a circular reference"


def test_the_same_list_twice_is_no_circular_reference() -> None:
    shared = [1]
    assert json_problem([shared, {"a": shared}], "x") is None


def test_depth_is_not_limited_by_the_recursion_limit() -> None:
    deep: Any = [{1}]
    for _ in range(50_000):
        deep = [deep]
    problem = json_problem(deep, "x")
    assert problem is not None
    assert problem.endswith("[0] is a set")
