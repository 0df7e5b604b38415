"""One input of a batch: how it becomes arguments."""

import keyword
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from kinetic_core.errors import UsageError

InputMode = Literal["auto", "single", "args", "kwargs"]
_MODES: Final = get_args(InputMode)


def check_mode(mode: str) -> None:
    """Refuse what is no input mode.

    Raises:
        UsageError: It is none.
    """
    if mode not in _MODES:
        raise UsageError(f"input_mode must be one of {', '.join(map(repr, _MODES))}, got {mode!r}")


def bind_input(value: Any, mode: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments that an input stands for.

    Args:
        value: The input.
        mode: `single`: one argument, whatever it is. `args`: a list or tuple of positional arguments. `kwargs`: a
            dict of keyword arguments. `auto`: a dict whose keys are all identifiers and no keywords, also the empty
            one, is keyword arguments; a list or tuple is positional arguments; anything else is one argument.

    Raises:
        UsageError: The input is not of the type that the mode names.

    >>> bind_input({"rate": 0.1}, "auto"), bind_input((1, 2), "auto"), bind_input({"a-b": 1}, "auto")
    (((), {'rate': 0.1}), ((1, 2), {}), (({'a-b': 1},), {}))
    """
    match mode:
        case "args" if not isinstance(value, list | tuple):
            raise _wrong(value, mode, "a list or tuple")
        case "kwargs" if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise _wrong(value, mode, "a dict with text keys")
        case "args":
            return tuple(value), {}
        case "kwargs":
            return (), dict(value)
        case "auto" if isinstance(value, dict) and _names_arguments(value):
            return (), dict(value)
        case "auto" if isinstance(value, list | tuple):
            return tuple(value), {}
    return (value,), {}


def _names_arguments(value: Mapping[Any, Any]) -> bool:
    return all(isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key) for key in value)


def _wrong(value: Any, mode: str, wanted: str) -> UsageError:
    return UsageError(f"with input_mode={mode!r} each input must be {wanted}, got one of type {type(value).__name__}")
