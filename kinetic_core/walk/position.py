"""Positions: where in the arguments something lies, as a person would write it."""

from collections.abc import Iterable
from typing import Any, Final

_MAX_KEY_CHARS: Final = 80


class Word:
    """A step that no index or key leads along, written as it stands."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        """Take what to write."""
        self.text = text


KEY: Final = Word("{key}")
"""From a dict to one of its keys."""
MEMBER: Final = Word("{member}")
"""From a set to one of its members."""


def argument(index: int) -> Word:
    """Return the first step to a positional argument."""
    return Word(f"arg {index}")


def keyword(name: str) -> Word:
    """Return the first step to a keyword argument."""
    return Word(f"kwarg {name!r}")


def written(steps: Iterable[Any]) -> str:
    """Write a position down, from the argument inwards.

    >>> written([argument(0), "files", 2])
    "arg 0['files'][2]"
    """
    return "".join(step.text if isinstance(step, Word) else f"[{_key(step)}]" for step in steps)


def _key(at: Any) -> str:
    try:
        text = repr(at)
    except Exception:  # noqa: BLE001 - a key's own repr may do anything, and a message must still be made
        return f"<{type(at).__name__}>"
    return text if len(text) <= _MAX_KEY_CHARS else f"{text[:_MAX_KEY_CHARS]}…"
