"""Calls of a function that another payload holds, as any runner makes them."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from kinetic_core.packaging.call import Call, surroundings_of
from kinetic_core.packaging.sharing import sharing_call
from kinetic_core.wire import payload
from kinetic_core.wire.plan import Plan

REFERENCE = {"id": "r", "uri": "file:///shared"}


def base(*ids: str) -> Call:
    return Call(function=len, data_ref_ids=ids, working_dir="/", plan=Plan(package_root="/"), kinetic_version="1")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """The folder of a shared function that has arguments of its own."""
    shared = {"func": lambda *args, **kwargs: (args, kwargs), "args": (0,), "kwargs": {"a": 1, "b": 1}}
    (tmp_path / "payload.pkl").write_bytes(cloudpickle.dumps(shared))
    return str(tmp_path)


def called(call: Call, folder: str) -> Any:
    """Make the call after a journey, as a runner does that has put the folder in the place of the reference."""
    function = pickle.loads(cloudpickle.dumps(call.function))
    assert call.args == (REFERENCE,)
    return function(folder, **call.kwargs)


@pytest.mark.parametrize("ids", [(), ("d",)], ids=["hidden", "in sight"])
def test_the_shared_function_gets_its_own_arguments_first_and_those_of_the_call_win(
    ids: tuple[str, ...], folder: str
) -> None:
    call = sharing_call(base(*ids), [2, 3], {"b": 4}, reference=REFERENCE, sha256="ab")
    assert called(call, folder) == ((0, 2, 3), {"a": 1, "b": 4})


def test_what_is_called_before_the_journey_does_the_same(folder: str) -> None:
    call = sharing_call(base("d"), (2,), {}, reference=REFERENCE, sha256="ab")
    assert call.function(folder, **call.kwargs) == ((0, 2), {"a": 1, "b": 1})


def test_no_module_of_this_project_is_needed_to_make_the_call(folder: str) -> None:
    call = sharing_call(base(), (2,), {}, reference=REFERENCE, sha256="ab")
    program = """if True:
        import pickle, sys
        made = pickle.load(sys.stdin.buffer)(sys.argv[1])
        print(made, [name for name in sys.modules if name.startswith("kinetic")])
    """
    ended = subprocess.run(
        [sys.executable, "-c", program, folder], input=cloudpickle.dumps(call.function), capture_output=True, check=True
    )
    assert ended.stdout.decode() == "((0, 2), {'a': 1, 'b': 1}) []\n"


def test_arguments_are_in_sight_of_the_pods_search_only_where_one_is_a_reference() -> None:
    assert sharing_call(base(), (1,), {}, reference=REFERENCE, sha256="ab").kwargs == {}
    seen = sharing_call(base("d"), (1,), {}, reference=REFERENCE, sha256="ab")
    assert seen.kwargs == {"args": (1,), "kwargs": {}}
    assert seen.data_ref_ids == ("r", "d")


def test_a_payload_says_by_its_hash_that_its_function_is_shared_and_else_says_nothing() -> None:
    shared = dict(surroundings_of(sharing_call(base(), (), {}, reference=REFERENCE, sha256="ab")))
    assert (shared[payload.SHARED_FUNCTION], shared[payload.HAS_DATA_REFS]) == ("ab", True)
    assert payload.SHARED_FUNCTION not in dict(surroundings_of(base()))
