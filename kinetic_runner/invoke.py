"""The call itself, and how it ended."""

import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kinetic_runner.image import image_path
from kinetic_runner.travel import text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a call, or a phase before it, ended."""

    value: Any = None
    error: BaseException | None = None
    said: str = ""
    """What to say of an error that must not be raised at the client: it would end it."""
    traceback: str | None = None
    """Formatted, without the runner's own frames."""

    @property
    def success(self) -> bool:
        """Tell whether there is a value."""
        return self.error is None


def invoke(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    hints: Callable[[Exception], Iterable[str]] = lambda _: (),
) -> Outcome:
    """Call the function and say how it ended, whatever it does but end the process.

    A coroutine is awaited. `sys.exit()` and `sys.exit(0)` are a success with `None`.

    Args:
        function: What to call.
        args: Positional arguments.
        kwargs: Keyword arguments.
        hints: Says what may explain an exception; each hint becomes a note of it.

    >>> invoke(len, ("abc",), {}).value
    3
    """
    try:
        return Outcome(value=_settled(function(*args, **kwargs)))
    except SystemExit as error:
        if error.code is None or error.code == 0:
            return Outcome()
        return failure(error, said=f"function called sys.exit({text_of(repr, error.code)})")
    except Exception as error:  # noqa: BLE001 - the function's own failure is what is reported
        add_notes(error, hints)
        return failure(error)
    except BaseException as error:  # noqa: BLE001 - the same; raising a KeyboardInterrupt at the client would stop it
        return failure(error, said=_said(error))


def _said(error: BaseException) -> str:
    text = text_of(str, error)
    return f"function raised {type(error).__name__}" + (f": {text}" if text else "")


def failure(error: BaseException, *, said: str = "") -> Outcome:
    """Return the outcome for an exception.

    Args:
        error: What was raised.
        said: What to say of it, where its own text does not do.
    """
    return Outcome(error=error, said=said, traceback=_format(error))


def add_notes(error: Exception, hints: Callable[[Exception], Iterable[str]]) -> None:
    """Add to an exception what may explain it, if it takes notes.

    Args:
        error: What was raised.
        hints: Asked for what may explain it.
    """
    # Some take none: a frozen dataclass, one with an attribute of its own by that name.
    with suppress(Exception):
        for hint in hints(error):
            error.add_note(hint)


def _settled(value: Any) -> Any:
    if inspect.iscoroutine(value):
        # Late: its import costs more than all the rest of a cold start.
        with image_path():
            import asyncio
        value = asyncio.run(value)
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        kind = "an async generator" if inspect.isasyncgen(value) else "a generator"
        raise TypeError(f"the function returned {kind}, which cannot travel: return list(...) of it, or write it out")
    return value


def _format(error: BaseException) -> str:
    # What `traceback` imports for some lines only; a project's file of that name must not spoil it. It may lack the
    # memory for it, or be absent: most lines do without.
    with suppress(Exception), image_path():
        import unicodedata  # noqa: F401
    try:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_globals.get("__name__") == __name__:
            frames = frames.tb_next
        shown = error.with_traceback(frames) if frames is not None else error
        return "".join(traceback.format_exception(shown))
    except BaseException as broken:  # noqa: BLE001 - an exception's own text may fail in any way
        return f"{type(error).__qualname__} (its traceback cannot be formatted: {type(broken).__name__})\n"
