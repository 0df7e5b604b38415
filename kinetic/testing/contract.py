"""What all contracts share: their tests are asked as they stand."""

import difflib
import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest


class Contract:
    """A class of tests that others subclass.

    >>> class Promise(Contract):
    ...     def test_it_holds(self) -> None: ...
    >>> class Mine(Promise):
    ...     def test_it_holds(self) -> None: ...
    Traceback (most recent call last):
        ...
    TypeError: Mine replaces test_it_holds, which a contract asks as it stands: list it in expected_failures
    """

    expected_failures: ClassVar[Mapping[str, str]] = {}
    """Names of tests that a driver fails, each with the reason. One that passes all the same is a failure."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse what would weaken the contract, and mark what is expected to fail."""
        super().__init_subclass__(**options)
        promised = {name for base in cls.__mro__[1:] for name in vars(base) if name.startswith("test_")}
        if replaced := sorted(promised & vars(cls).keys()):
            raise TypeError(
                f"{cls.__name__} replaces {', '.join(replaced)}, which a contract asks as it stands:"
                " list it in expected_failures"
            )
        for name, reason in vars(cls).get("expected_failures", {}).items():
            if name not in promised:
                near = difflib.get_close_matches(name, promised, n=1)
                raise TypeError(
                    f"{cls.__name__} expects {name!r} to fail, which is no test of its contract"
                    + (f"; did you mean {near[0]!r}?" if near else "")
                )
            setattr(cls, name, pytest.mark.xfail(reason=reason, strict=True)(_copied(getattr(cls, name))))


def _copied(test: Callable[..., None]) -> Callable[..., None]:
    """Return a test of its own: a mark on it must not be one on the contract's."""

    @functools.wraps(test)
    def copy(*args: Any, **kwargs: Any) -> None:
        test(*args, **kwargs)

    return copy
