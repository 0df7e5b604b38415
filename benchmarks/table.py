"""Tables of ratios, for a terminal and for the documentation."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from benchmarks.budgets import Judged, Verdict
from benchmarks.contestants import OURS
from benchmarks.records import Measured, Row

_DISTURBED: Final = "~"
_NAMES: Final[Mapping[str, str]] = {
    "wall_ms": "time",
    "cpu_ms": "CPU time",
    "bytes": "bytes",
    "context_bytes": "bytes of the context",
    "context_requests": "requests for it",
    "peak_mb": "memory above idle",
    "above_bare_ms": "time above bare",
    "cpu_above_bare_ms": "CPU time above bare",
    "importtime_ms": "`-X importtime`",
    "modules": "modules",
    "cold_wall_ms_a_file": "time a file, cold",
    "cold_cpu_ms_a_file": "CPU time a file, cold",
    "warm_wall_ms_a_file": "time a file, unchanged",
    "warm_cpu_ms_a_file": "CPU time a file, unchanged",
}
# Shown as they are: what they should be is known.
_ABSOLUTE: Final = frozenset({"context_bytes", "context_requests", "modules"})
# Below this, memory is what an interpreter breathes in and out.
_LEAST_PEAK_MB: Final = 8
_PRECISE: Final = 0.095
_ROUND: Final = 9.95


def measured_table(measured: Measured) -> list[str]:
    """Return the lines of a Markdown table: each contestant as a multiple of the first row with values."""
    there = [row for row in measured.rows if row.reason is None]
    if not there:
        return ["| | |", "| --- | --- |", *(f"| {row.contestant} | {row.reason} |" for row in measured.rows)]
    base = next((row for row in there if row.contestant == OURS), there[0])
    columns = [key for key in _NAMES if _is_shown(key, there)]
    lines = [_line(["", *(_NAMES[key] for key in columns)]), _line(["---"] * (len(columns) + 1))]
    for row in measured.rows:
        if row.reason is None:
            mark = f" {_DISTURBED}" if row.is_disturbed else ""
            lines.append(_line([row.contestant + mark, *(_cell(row, base, key) for key in columns)]))
        else:
            lines.append(_line([row.contestant, f"not measured: {row.reason}", *[""] * (len(columns) - 1)]))
    return lines


def budget_table(judged: Iterable[Judged], *, left_out: Sequence[Verdict] = ()) -> list[str]:
    """Return the lines of a Markdown table of budgets."""
    lines = [_line(["#", "what", "target", "measured", ""]), _line(["---"] * 5)]
    for one in judged:
        if one.verdict in left_out:
            continue
        budget = one.budget
        unit = "" if budget.compare == "ratio" else _unit(budget.quantity)
        measured = one.reason if one.value is None else f"{number(one.value)}{unit}{_DISTURBED * one.is_disturbed}"
        verdict = one.verdict.value
        if one.verdict is Verdict.OPEN and one.is_reached:
            verdict = "reached; close it"
        if one.verdict is Verdict.MET and not one.is_reached:
            verdict = "within its margin"
        lines.append(_line([str(budget.target), budget.what, f"≤ {budget.at_most:,g}{unit}", measured, verdict]))
    return lines


def number(value: float) -> str:
    """Write a ratio to what it is worth.

    >>> [number(value) for value in (0.0123, 0.234, 1.234, 123.4)]
    ['0.012', '0.23', '1.2', '123']
    """
    if value == 0:
        return "0"
    if abs(value) < _PRECISE:
        return f"{value:.2g}"
    if abs(value) < 1:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < _ROUND else f"{value:,.0f}"


def _is_shown(key: str, rows: Sequence[Row]) -> bool:
    values = [row.values[key] for row in rows if key in row.values]
    if key == "peak_mb":
        return bool(values) and max(values) > _LEAST_PEAK_MB
    if key in {"wall_ms", "cpu_ms"} and any("above_bare_ms" in row.values for row in rows):
        return False
    return any(values)


def _cell(row: Row, base: Row, key: str) -> str:
    value, unit = row.values.get(key), base.values.get(key)
    if key in _ABSOLUTE and value is not None:
        return f"{value:,.0f}"
    if value is None or (key == "peak_mb" and (not value or unit is None or unit < 1)):
        return "–"
    return "–" if not unit else f"{number(value / unit)} ×"


def _unit(quantity: str) -> str:
    return " ms" if quantity.endswith("_ms") else " MB" if quantity.endswith("_mb") else ""


def _line(cells: Iterable[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
