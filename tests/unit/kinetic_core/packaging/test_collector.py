"""Packaging pauses the collector, and leaves it as it was."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.model.collector import collector_paused
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.packaging.scan import scan


@pytest.fixture(autouse=True)
def running() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def test_no_collection_runs_for_the_rows_of_a_tree(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / f"{number}.py").touch()
    rules = RuleSet.compile([])
    begun: list[str] = []

    def note(phase: str, _: object) -> None:
        if phase == "start":
            begun.append(phase)

    gc.collect()
    gc.callbacks.append(note)
    try:
        found = scan(tmp_path, rules)
        # Nor at the end, over all that was made.
        after: list[list[int]] = [[] for _ in range(10)]
        during = len(begun)
    finally:
        gc.callbacks.remove(note)
    assert during == 0
    assert len(found.listing) == 2_000
    assert len(after) == 10
    assert gc.isenabled()


def test_it_runs_again_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(PackagingError):
        scan(tmp_path / "gone", RuleSet.compile([]))
    assert gc.isenabled()


def test_one_that_the_application_turned_off_stays_off() -> None:
    gc.disable()
    with collector_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_what_the_application_froze_stays_frozen() -> None:
    mine: list[object] = []
    assert is_collected(mine)
    gc.freeze()
    try:
        assert not is_collected(mine)
        with collector_paused():
            pass
        assert not is_collected(mine)
    finally:
        gc.unfreeze()


def is_collected(mine: object) -> bool:
    """Tell whether the collector looks at an object; it does not list what is frozen."""
    return any(one is mine for one in gc.get_objects())
