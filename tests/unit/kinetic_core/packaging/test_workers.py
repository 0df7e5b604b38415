import threading
import time
from collections.abc import Iterator

import pytest

from kinetic_core.packaging.workers import Workers
from tests.fakes.holding import own_threads


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    def slow_first(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0)
        return -number

    with Workers(count) as workers:
        assert list(workers.ordered(slow_first, range(30))) == [-number for number in range(30)]
        assert list(workers.ordered(abs, [-3])) == [3]


def test_one_worker_is_the_callers_own_thread() -> None:
    with Workers(1) as workers:
        assert list(workers.ordered(lambda _: threading.current_thread(), [1])) == [threading.current_thread()]


def test_items_are_taken_only_a_few_ahead() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    with Workers(2) as workers:
        results = workers.ordered(abs, items())
        next(results)
        assert taken <= 6


@pytest.mark.parametrize("count", [1, 2])
def test_a_failure_reaches_the_caller_and_ends_the_threads(count: int) -> None:
    def fail(number: int) -> int:
        raise LookupError(number)

    with own_threads() as threads, pytest.raises(LookupError), Workers(count) as workers:
        list(workers.ordered(fail, range(10)))
    assert threads.alive == []
