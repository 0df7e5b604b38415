from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from kinetic_core.walk.extent import exceeds


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([], 0),
        ([1, "text", b"bytes"], 3),
        ([[], [1, 2]], 4),
        ([{"key": [1]}], 4),
        ([{1, 2}, frozenset([3])], 5),
        ([(1, (2,)), Counter("ab")], 9),
    ],
)
def test_every_item_and_key_counts(values: list[Any], count: int) -> None:
    assert not exceeds(values, count)
    assert exceeds(values, count - 1) or not values


def test_a_cycle_is_more_than_any_number() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert exceeds([loop], 1_000)


def test_no_more_is_looked_at_than_may_be_walked() -> None:
    looked = []

    def values() -> Iterator[int]:
        for number in range(1_000):
            looked.append(number)
            yield number

    assert exceeds(values(), 10)
    assert len(looked) == 11
