"""What was measured, as it is kept and shown."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import attrs

from benchmarks.sampling import Sample

_MS_PER_S = 1e3
_BYTES_PER_MB = 1e6


@attrs.frozen(kw_only=True)
class Row:
    """One contestant of one measurement."""

    contestant: str
    values: Mapping[str, float] = attrs.field(factory=dict)
    """`wall_ms`, `cpu_ms`, `peak_mb`, and whatever else its rounds counted."""
    rounds: int = 0
    quiet_rounds: int = 0
    spread: float = 0.0
    """Distance of the quartiles of the wall time, as a share of the median."""
    is_disturbed: bool = False
    """Other processes were busy in nearly every round."""
    reason: str | None = None
    """Why it has no values."""

    @classmethod
    def of(cls, contestant: str, sample: Sample) -> Self:
        """Sum up a sample."""
        if sample.reason is not None:
            return cls(contestant=contestant, reason=sample.reason)
        values = {
            "wall_ms": sample.wall_s * _MS_PER_S,
            "cpu_ms": sample.cpu_s * _MS_PER_S,
            "peak_mb": sample.peak_bytes / _BYTES_PER_MB,
            **sample.facts,
        }
        return cls(
            contestant=contestant,
            values=values,
            rounds=len(sample.rounds),
            quiet_rounds=len(sample.quiet),
            spread=sample.spread,
            is_disturbed=sample.is_disturbed,
        )


@attrs.frozen(kw_only=True)
class Measured:
    """One measurement: several contestants, side by side."""

    key: str
    """`cold:src2k`: what, and of what."""
    title: str
    rows: tuple[Row, ...]

    def row(self, contestant: str) -> Row | None:
        """Return a contestant's row."""
        return next((row for row in self.rows if row.contestant == contestant), None)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON, numbers rounded to what they are worth."""
        found: dict[str, Any] = attrs.asdict(self)
        for row in found["rows"]:
            row["values"] = {key: float(f"{value:.4g}") for key, value in row["values"].items()}
            row["spread"] = round(row["spread"], 3)
        return found

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned."""
        return cls(key=found["key"], title=found["title"], rows=tuple(Row(**row) for row in found["rows"]))


def merged(old: Iterable[Measured], new: Iterable[Measured]) -> tuple[Measured, ...]:
    """Put new measurements in the place of old ones of the same key; others stay."""
    found = {measured.key: measured for measured in old}
    found.update({measured.key: measured for measured in new})
    return tuple(found.values())
