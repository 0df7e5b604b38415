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


def test_no_collection_runs_before_a_tree_is_listed(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / f"{number}.py").touch()
    begun: list[str] = []

    def note(phase: str, _: object) -> None:
        if phase == "start":
            begun.append(phase)

    gc.callbacks.append(note)
    try:
        scan(tmp_path, RuleSet.compile([]))
        during = len(begun)
    finally:
        gc.callbacks.remove(note)
    # What was put off is done at the end, once.
    assert during <= 1
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
