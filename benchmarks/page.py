"""The page of the documentation: tables and plots of what was measured last."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import plot, table
from benchmarks.budgets import judge, read_budgets
from benchmarks.contestants import OURS, ROOT
from benchmarks.records import Measured

LAST: Final = ROOT / "benchmarks" / "last.json"
PAGE: Final = ROOT / "docs" / "explanation" / "performance.md"
PLOTS: Final = ROOT / "docs" / "explanation" / "performance"
BEGIN: Final = "<!-- measured, begin: written by `python -m benchmarks --render` -->"
END: Final = "<!-- measured, end -->"
_PLOTTED: Final = ("cold:src2k", "cold:prune", "import")
_GROWTH: Final = "growth:"


def read_last(path: Path = LAST) -> tuple[dict[str, Any], tuple[Measured, ...]]:
    """Return what is known of the machine, and what was measured last."""
    if not path.is_file():
        return {}, ()
    raw = json.loads(path.read_text(encoding="utf-8"))
    return raw["machine"], tuple(Measured.from_json(one) for one in raw["measured"])


def write_last(machine: dict[str, Any], measured: Sequence[Measured], path: Path = LAST) -> None:
    """Keep what was measured."""
    raw = {"machine": machine, "measured": [one.to_json() for one in measured]}
    path.write_text(json.dumps(raw, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def render(page: Path = PAGE, plots: Path = PLOTS) -> None:
    """Write tables into the page, between its two marks, and plots beside it."""
    machine, measured = read_last()
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    plots.mkdir(exist_ok=True)
    lines = [BEGIN, "", *_words(machine), "", "## The budgets", ""]
    lines += table.budget_table(judge(read_budgets(), measured))
    for one in measured:
        if one.key.startswith(_GROWTH):
            continue
        lines += ["", f"## {one.title[0].upper()}{one.title[1:]}", "", *table.measured_table(one)]
        drawn = _plot(one, measured, plots)
        if drawn is not None:
            lines += ["", f"![{one.title}, drawn]({plots.name}/{drawn})"]
    page.write_text(before + "\n".join([*lines, "", END]) + after, encoding="utf-8")


def _words(machine: dict[str, Any]) -> list[str]:
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    return [f"One machine, ratios only: {about}."]


def _plot(one: Measured, measured: Sequence[Measured], folder: Path) -> str | None:
    if one.key == "growth":
        drawn = _growth(measured)
    elif one.key in _PLOTTED:
        drawn = _bars(one)
    else:
        return None
    name = f"{one.key.replace(':', '-')}.svg"
    folder.joinpath(name).write_text(drawn, encoding="utf-8")
    return name


def _bars(one: Measured) -> str:
    key = "above_bare_ms" if one.key == "import" else "wall_ms"
    walls = {row.contestant: row.values[key] for row in one.rows if row.values.get(key, 0) > 0}
    ours = walls[OURS]
    ratios = {OURS: 1.0, **{name: wall / ours for name, wall in walls.items()}}
    return plot.bars(f"{one.title.replace('`', '')}: time, as a multiple of ours", ratios)


def _growth(measured: Sequence[Measured]) -> str:
    sized = sorted((int(one.key.removeprefix(_GROWTH)), one) for one in measured if one.key.startswith(_GROWTH))
    series: dict[str, list[tuple[float, float]]] = {}
    row = sized[0][1].row(OURS)
    unit = row.values["wall_ms"] if row is not None and row.reason is None else 1.0
    for size, one in sized:
        for found in one.rows:
            if "wall_ms" in found.values:
                series.setdefault(found.contestant, []).append((size, found.values["wall_ms"] / unit))
    return plot.lines("growth with the tree", "files", "time, as a multiple of ours at the least", series)
