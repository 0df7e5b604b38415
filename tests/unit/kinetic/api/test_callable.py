"""What decorating makes of a function."""

import functools
import inspect
import io
import logging
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

import kinetic
from kinetic.api.callable import RemoteCallable
from kinetic_core.errors import KineticError


@kinetic.run
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def test_it_works_bare_and_with_keywords_and_keeps_what_the_function_is() -> None:
    assert isinstance(add, RemoteCallable)
    assert (add.__name__, add.__doc__, add.__module__) == ("add", "Add two numbers.", __name__)
    assert str(inspect.signature(add)) == "(a: int, b: int = 2) -> int"
    assert "add" in repr(add)


def test_local_calls_the_plain_function_here() -> None:
    assert add.local(1) == 3


def test_options_returns_a_changed_copy_and_leaves_the_original() -> None:
    changed = add.options(retries=2).options(timeout=5)
    assert (changed.run_options.retries, changed.run_options.timeout) == (2, 5)
    assert add.run_options.retries == 0


def test_the_format_may_be_set_as_an_attribute() -> None:
    changed = add.options()
    changed.serialization = "json"
    assert changed.run_options.serialization == changed.serialization == "json"
    assert add.serialization == "pickle"


def test_pickled_it_is_the_plain_function_without_kinetic() -> None:
    data = cloudpickle.dumps(RemoteCallable(_local_function(), add.run_options))
    assert b"RemoteCallable" not in data
    assert pickle.loads(data)(3) == 6


def test_what_calls_the_plain_function_is_pickled_without_kinetic_too() -> None:
    data = cloudpickle.dumps(RemoteCallable(_local_function(), add.run_options).local)
    assert b"RemoteCallable" not in data
    assert pickle.loads(data)(3) == 6


def test_a_parameter_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("self", "function", "args", "kwargs", "options", "request")

    @kinetic.run(accelerator="cpu", backend="local")
    def sort(**keywords: int) -> list[str]:
        return sorted(keywords)

    call = dict.fromkeys(names, 1)
    assert sort.local(**call) == sorted(names)
    with pytest.raises(KineticError, match="memory://"):
        sort.options(storage="memory://x").run_async(**call)
    monkeypatch.setenv("KINETIC_JOB_ID", "job-0a1b2c3d")
    assert sort(**call) == sorted(names)


def _local_function() -> Callable[[int], int]:
    def double(x: int) -> int:
        return 2 * x

    return double


class Trainer:
    rate = 3

    @kinetic.run
    def fit(self, steps: int) -> int:
        return self.rate * steps


def test_a_method_is_bound_to_its_instance() -> None:
    assert Trainer().fit.local(2) == 6
    assert isinstance(Trainer.fit, RemoteCallable)
    assert list(inspect.signature(Trainer().fit).parameters) == ["steps"]


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (classmethod(lambda cls: None), "below"),
        (staticmethod(lambda: None), "below"),
        (functools.lru_cache(lambda: None), "cache"),
        (functools.cache(lambda: None), "cache"),
        (int, "class"),
        (3, "function"),
        ("f", "function"),
    ],
)
def test_what_cannot_be_decorated_is_refused_with_advice(refused: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        kinetic.run(refused)
    with pytest.raises(TypeError, match=said):
        kinetic.run(accelerator="cpu")(refused)


def test_a_partial_gets_a_safe_name() -> None:
    named = kinetic.run(functools.partial(print, "x"))
    assert named.local() is None
    assert named.__name__.startswith("functools.partial")


def test_attributes_of_a_callable_instance_do_not_take_the_wrappers_place() -> None:
    class Model:
        def __init__(self) -> None:
            self._function = "mine"
            self._options = "mine too"

        def __call__(self, x: int) -> int:
            return x + 1

    assert kinetic.run(Model()).options(retries=1).local(1) == 2


def test_debug_on_a_spot_machine_warns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="kinetic"):
        kinetic.run(debug=True, spot=True)
    assert "spot" in caplog.text


def test_inside_a_job_a_call_runs_inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINETIC_JOB_ID", "job-0a1b2c3d")
    assert add(1, 1) == 2


def test_a_blocking_debug_call_without_a_terminal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(kinetic.ConfigError, match="KINETIC_NO_TTY_DEBUG=1"):
        add.options(debug=True, accelerator="cpu")(1)
