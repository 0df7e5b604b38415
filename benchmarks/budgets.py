"""The budgets: ratios to keep, and the verdict on each."""

import tomllib
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal

import attrs

from benchmarks.contestants import OURS
from benchmarks.records import Measured, Row

FILE: Final = Path(__file__).with_name("budgets.toml")


class Verdict(Enum):
    """How a budget fared."""

    MET = "met"
    OPEN = "OPEN"
    """The target is not met yet, and today's ratio is not exceeded."""
    BROKEN = "BROKEN"
    UNMEASURED = "not measured"


@attrs.frozen(kw_only=True)
class Budget:
    """One target of the performance page, as a comparison of two rows."""

    target: int
    """Its number there."""
    what: str
    measure: str
    """Key of the measurement."""
    ours: str = OURS
    """The contestant that is held to it."""
    against: str | None = None
    """The contestant that it is compared with."""
    quantity: str = "wall_ms"
    compare: Literal["ratio", "difference", "value"] = "ratio"
    at_most: float
    """The target."""
    margin: float = 0.1
    """How far a measurement may exceed the limit before the budget counts as broken, as a share of it."""
    status: Literal["met", "open"] = "met"
    today: float | None = None
    """Of an open budget: the best measured so far, which must not get worse."""
    note: str = ""

    def __attrs_post_init__(self) -> None:
        if (self.compare == "value") != (self.against is None):
            raise ValueError(f"{self.what!r}: {self.compare} and against={self.against!r} do not go together")
        if (self.status == "open") != (self.today is not None):
            raise ValueError(f"{self.what!r}: what is open, and only that, gives the ratio of today")

    @property
    def limit(self) -> float:
        """Return what a measurement may not exceed, the margin included."""
        return (self.at_most if self.today is None else self.today) * (1 + self.margin)


@attrs.frozen(kw_only=True)
class Judged:
    """A budget, and what was measured."""

    budget: Budget
    verdict: Verdict
    value: float | None = None
    is_disturbed: bool = False
    reason: str = ""

    @property
    def is_reached(self) -> bool:
        """Tell whether the target itself is kept, whatever the status says."""
        return self.value is not None and self.value <= self.budget.at_most


def read_budgets(path: Path = FILE) -> tuple[Budget, ...]:
    """Read `budgets.toml`.

    Raises:
        TypeError: A key is unknown, or one is missing.
        ValueError: Values do not go together.
    """
    raw: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(Budget(**entry) for entry in raw["budget"])


def judge(budgets: Iterable[Budget], measured: Sequence[Measured]) -> tuple[Judged, ...]:
    """Hold what was measured against the budgets."""
    by_key = {found.key: found for found in measured}
    return tuple(_judged(budget, by_key.get(budget.measure)) for budget in budgets)


def _judged(budget: Budget, measured: Measured | None) -> Judged:
    if measured is None:
        return Judged(budget=budget, verdict=Verdict.UNMEASURED, reason="not part of this run")
    rows = [measured.row(name) for name in (budget.ours, budget.against) if name is not None]
    there: list[Row] = []
    for row in rows:
        if row is None or row.reason is not None or budget.quantity not in row.values:
            reason = "no such row or value" if row is None else row.reason or f"it counts no {budget.quantity}"
            return Judged(budget=budget, verdict=Verdict.UNMEASURED, reason=reason)
        there.append(row)
    value = _compared(budget, [row.values[budget.quantity] for row in there])
    return Judged(
        budget=budget,
        verdict=_verdict(budget, value),
        value=value,
        is_disturbed=any(row.is_disturbed for row in there),
    )


def _compared(budget: Budget, values: Sequence[float]) -> float:
    match budget.compare:
        case "value":
            return values[0]
        case "difference":
            return values[0] - values[1]
        case "ratio":
            return values[0] / values[1] if values[1] else float("inf")


def _verdict(budget: Budget, value: float) -> Verdict:
    if value > budget.limit:
        return Verdict.BROKEN
    return Verdict.OPEN if budget.status == "open" else Verdict.MET
