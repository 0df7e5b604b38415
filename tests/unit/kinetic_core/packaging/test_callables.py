import functools
import re
from collections.abc import Callable
from typing import Any

import pytest

from kinetic_core.errors import UsageError
from kinetic_core.packaging.callables import check_call, expand_partial, refuse, safe_name, underlying


def train(x: int, y: int = 2, *, z: int = 3) -> int:
    """Add up."""
    return x + y + z


@functools.wraps(train)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    """Add an argument of its own."""
    return train(1, *args, **kwargs)


class Trainer:
    """A callable instance with a method."""

    def __call__(self, x: int) -> int:
        return x

    def method(self, x: int) -> int:
        """Return it."""
        return x

    @staticmethod
    def make(owner: type) -> object:
        """Make one."""
        return owner()


class Slotted:
    """A callable that takes no attribute."""

    __slots__ = ()

    def __call__(self) -> None:
        """Do nothing."""


class Mute:
    """A callable whose every attribute and repr raises."""

    def __call__(self) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("repr")


class Answering:
    """Answers to any attribute with itself."""

    def __call__(self) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        return self


@pytest.mark.parametrize(
    ("function", "inner"),
    [
        (train, train),
        (functools.partial(functools.partial(train, 1), y=2), train),
        (wrapped, train),
        (functools.partial(wrapped), train),
        (Trainer().method, Trainer.method),
        (Trainer(), Trainer.__call__),
        (functools.lru_cache(train), train),
        (Mute(), Mute.__call__),
        (len, None),
        (Answering(), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_underlying_function_is_the_one_that_holds_the_code(function: Callable[..., Any], inner: object) -> None:
    assert underlying(function) is inner


def test_a_function_keeps_its_name_but_for_unsafe_characters() -> None:
    assert safe_name(train) == "train"
    train_jp: Callable[[], None] = eval("lambda: 1")
    train_jp.__name__ = "训练 run/1!"
    assert safe_name(train_jp) == "run-1"
    train_jp.__name__ = "训练"
    assert safe_name(train_jp) == "function"


@pytest.mark.parametrize(
    "function", [functools.partial(train, 1), Trainer(), Mute()], ids=lambda value: type(value).__name__
)
def test_what_has_no_name_gets_a_safe_one_from_its_repr(function: Callable[..., Any]) -> None:
    name = safe_name(function)
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", name)
    assert name[0] not in "-."
    assert not hasattr(type(function), "__name__") or not isinstance(vars(function).get("__name__"), str)


def test_a_long_name_is_cut_to_forty_characters() -> None:
    function: Callable[[], None] = eval("lambda: 1")
    function.__name__ = "x" * 39 + "-" + "y" * 9
    assert safe_name(function) == "x" * 39


def test_an_object_that_takes_no_name_is_refused_with_the_wrapper_to_write() -> None:
    with pytest.raises(TypeError, match=r"def call\(\*args, \*\*kwargs\)"):
        safe_name(Slotted())


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (classmethod(Trainer.make), "@classmethod on the first line, @kinetic.run(...) on the second"),
        (staticmethod(train), "@staticmethod on the first line, @kinetic.run(...) on the second"),
        (functools.lru_cache(train), "decorate the function that it wraps"),
        (functools.cache(train), "decorate the function that it wraps"),
        (Trainer, "not the class Trainer; wrap it: def make"),
        (3, "takes a function, not 3 of type int"),
        (None, "takes a function, not None of type NoneType"),
    ],
)
def test_what_cannot_run_elsewhere_is_refused_with_advice(function: object, advice: str) -> None:
    with pytest.raises(TypeError, match=re.escape(advice)) as caught:
        refuse(function)
    assert isinstance(caught.value, UsageError)


@pytest.mark.parametrize(
    "function",
    [train, functools.partial(train), Trainer(), Trainer().method, len, Mute()],
    ids=lambda value: type(value).__name__,
)
def test_any_other_callable_is_taken(function: object) -> None:
    refuse(function)
    assert callable(function)


@pytest.mark.parametrize(
    ("args", "kwargs", "why"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"q": 1}, "got an unexpected keyword argument 'q'"),
        ((1,), {"x": 1}, "multiple values for argument 'x'"),
    ],
)
def test_a_call_that_does_not_fit_names_function_and_signature(
    args: tuple[Any, ...], kwargs: dict[str, Any], why: str
) -> None:
    signature = "train(x: int, y: int = 2, *, z: int = 3) -> int cannot be called like this: "
    with pytest.raises(TypeError, match=re.escape(signature + why)):
        check_call(train, args, kwargs)


def test_a_call_that_fits_is_passed() -> None:
    check_call(train, (1,), {"z": 5})
    check_call(functools.partial(train, 1), (), {})
    check_call(Trainer(), (1,), {})
    with pytest.raises(UsageError):
        check_call(Trainer().method, (), {})


def test_a_wrapper_may_take_what_the_function_it_wraps_would_not() -> None:
    check_call(wrapped, (), {"z": 4})
    assert wrapped(z=4) == 7


def test_a_builtin_without_a_signature_is_left_to_itself() -> None:
    check_call(max, (), {})
    with pytest.raises(ValueError, match="no signature"):
        __import__("inspect").signature(max)


def test_the_arguments_of_partials_become_the_calls_own() -> None:
    function, args, kwargs = expand_partial(functools.partial(functools.partial(train, 1, z=9), y=2), (), {"z": 4})
    assert (function, args, kwargs) == (train, (1,), {"y": 2, "z": 4})
    function, args, kwargs = expand_partial(train, [1], {})
    assert (function, args, kwargs) == (train, (1,), {})


def test_a_subclass_of_partial_may_call_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(functools.partial[Any]):
        """Not exactly a partial."""

    odd = Odd(train, 1)
    assert expand_partial(odd, (), {})[0] is odd
    placeholder: Any = object()
    monkeypatch.setattr(functools, "Placeholder", placeholder, raising=False)
    held = functools.partial(train, placeholder, 2)
    assert expand_partial(held, (1,), {})[0] is held
