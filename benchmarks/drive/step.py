"""What one round does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def _nothing() -> None:
    return None


def _no_facts() -> Mapping[str, float]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A timed call, with what stands before and after it."""

    act: Callable[[], Any]
    """Alone is timed."""
    before: Callable[[], Any] = _nothing
    """Makes every round start from the same state."""
    facts: Callable[[], Mapping[str, float]] = _no_facts
    """Counts and sizes of the round that just ended."""
