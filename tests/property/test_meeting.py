"""What writing meets, against what a walk finds: nothing that a walk would find is ever missed."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given

from kinetic_core.packaging.call import Call
from kinetic_core.packaging.meeting import ReferenceMet
from kinetic_core.packaging.pickling import write_payload
from kinetic_core.walk import find
from kinetic_core.wire.plan import Plan
from tests.property.test_walk import NESTED, Mark, graphs, is_mark


def meets(*args: Any) -> bool:
    call = Call(function=len, args=args, working_dir="/p", plan=Plan(package_root="/p"), kinetic_version="0")
    with tempfile.TemporaryDirectory() as folder:
        try:
            write_payload(call, Path(folder, "payload.pkl"), first_party={}, references=(Mark,))
        except ReferenceMet:
            return True
    return False


@given(NESTED)
def test_writing_meets_what_a_walk_finds(value: Any) -> None:
    assert meets(value) is bool(find((value,), {}, matches=is_mark))


@given(graphs())
def test_writing_meets_it_in_what_is_shared_and_cyclic_too(nodes: list[Any]) -> None:
    assert meets(*nodes) is bool(find(nodes, {}, matches=is_mark))
