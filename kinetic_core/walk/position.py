"""Positions: where in the arguments something lies, as a person would write it."""

from dataclasses import dataclass
from typing import Any, Final

_MAX_KEY_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the arguments: one step from the container that holds it."""

    outer: "Position | None"
    text: str | None
    """Written as it stands; `None` where `at` is an index or a key."""
    at: Any = None

    @property
    def is_indexed(self) -> bool:
        """Tell whether indices and keys alone lead there: it is in no set and in no key."""
        step: Position | None = self
        while step is not None:
            if step.text is not None and step.outer is not None:
                return False
            step = step.outer
        return True

    def __str__(self) -> str:
        """Write the position down, from the argument inwards."""
        parts: list[str] = []
        step: Position | None = self
        while step is not None:
            parts.append(f"[{_key(step.at)}]" if step.text is None else step.text)
            step = step.outer
        return "".join(reversed(parts))


def argument(index: int) -> Position:
    """Return the position of a positional argument.

    >>> str(item(argument(0), "files"))
    "arg 0['files']"
    """
    return Position(None, f"arg {index}")


def keyword(name: str) -> Position:
    """Return the position of a keyword argument.

    >>> str(item(keyword("cfg"), 2))
    "kwarg 'cfg'[2]"
    """
    return Position(None, f"kwarg {name!r}")


def item(outer: Position, at: Any) -> Position:
    """Return the position of the item under an index or a key.

    >>> str(item(item(argument(1), "a"), 0))
    "arg 1['a'][0]"
    """
    return Position(outer, None, at)


def unindexed(outer: Position, what: str) -> Position:
    """Return the position of something that no index leads to: a member of a set, a key of a dict.

    >>> str(unindexed(argument(1), "a key"))
    'arg 1{a key}'
    """
    return Position(outer, f"{{{what}}}")


def _key(at: Any) -> str:
    try:
        text = repr(at)
    except Exception:  # noqa: BLE001 - a key's own repr may do anything, and a message must still be made
        return f"<{type(at).__name__}>"
    return text if len(text) <= _MAX_KEY_CHARS else f"{text[:_MAX_KEY_CHARS]}…"
