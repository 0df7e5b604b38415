"""A call whose function another payload holds: loaded here, as the function of any payload is."""

import functools
import hashlib
from typing import Any

import pytest

from tests.system.runner.artifacts import Bench, pickled, script
from tests.unit.kinetic_runner.inprocess import record_of, reference, run_here
from tests.unit.kinetic_runner.journal import Journal

pytestmark = pytest.mark.usefixtures("own_process")
SOURCE = "def f(a, b, *, c):\n    if b == 'bad':\n        raise ValueError(c)\n    return a, b, c\n"


def share(bench: Bench, *args: Any, hidden: bool = True, digest: str | None = None, **kwargs: Any) -> None:
    """Let the job call a shared function that has one argument of its own."""
    bench.files["train.py"] = SOURCE
    shared = pickled({"func": script(SOURCE, "train.py")["f"], "args": (1,), "kwargs": {"c": 0}})
    folder = bench.folder / "shared"
    folder.mkdir()
    (folder / "payload.pkl").write_bytes(shared)
    inner = {"args": args, "kwargs": kwargs}
    stand_in = script("def g(*args, **kwargs):\n    raise AssertionError\n", "other.py")["g"]
    bench.payload |= {
        "func": functools.partial(stand_in, **inner) if hidden else stand_in,
        "args": (reference(f"file://{folder}", is_dir=True),),
        "kwargs": {} if hidden else inner,
        "has_data_refs": True,
        "data_ref_ids": ["r"],
        "shared_function": hashlib.sha256(shared).hexdigest() if digest is None else digest,
    }


@pytest.mark.parametrize("hidden", [True, False])
def test_the_shared_function_is_called_with_its_own_arguments_and_those_of_the_call(
    bench: Bench, journal: Journal, hidden: bool
) -> None:
    share(bench, "two", hidden=hidden, c=3)
    assert run_here(bench, journal) == 0, journal.text_of_all
    assert record_of(bench)["result"] == (1, "two", 3)


def test_its_exception_has_the_functions_own_lines_and_no_others(bench: Bench, journal: Journal) -> None:
    share(bench, "bad", c="why")
    assert run_here(bench, journal) == 1
    record = record_of(bench)
    assert (repr(record["exception"]), record["phase"]) == ("ValueError('why')", "execute")
    assert record["traceback"].count("  File ") == 1
    assert "raise ValueError(c)" in record["traceback"]


def test_a_shared_function_that_is_not_what_the_client_sent_is_not_loaded(bench: Bench, journal: Journal) -> None:
    share(bench, "two", digest="00")
    assert run_here(bench, journal) == 1
    record = record_of(bench)
    assert record["phase"] == "data resolve"
    assert "the shared function is not what the client sent" in str(record["exception"])


def test_a_shared_function_that_does_not_load_is_told_as_any_payload_is(bench: Bench, journal: Journal) -> None:
    share(bench, "two")
    broken = b"no pickle"
    (bench.folder / "shared" / "payload.pkl").write_bytes(broken)
    bench.payload["shared_function"] = hashlib.sha256(broken).hexdigest()
    assert run_here(bench, journal) == 1
    assert record_of(bench)["phase"] == "execute"
