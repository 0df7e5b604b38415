"""What the interface says where no plugin says anything."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetic.testing.log import RecordingLog
from kinetic_core.plugin import DriverContext, specs

SPECS = [spec for name, spec in vars(specs).items() if name.startswith("kinetic_")]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.__name__)
def test_a_spec_without_an_answer_answers_with_nothing(spec: Callable[..., Any]) -> None:
    assert not spec(*[None for _ in inspect.signature(spec).parameters])


def test_a_driver_that_is_opened_by_hand_gets_no_answers_to_its_hooks(tmp_path: Path) -> None:
    context = DriverContext(log=RecordingLog(), environ={}, home=tmp_path)
    assert context.collect("kinetic_mine_paint", pod=1) == {}
