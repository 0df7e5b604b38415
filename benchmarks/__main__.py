"""`python -m benchmarks`: measure, print tables, hold them against the budgets."""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks import page, table
from benchmarks.budgets import Verdict, judge, read_budgets
from benchmarks.contestants import ROOT
from benchmarks.records import Measured, merged
from benchmarks.suite import MEASURES
from benchmarks.workshop import Workshop

_DESCRIPTION: Final = (
    "Measure, print tables, and hold them against the budgets; exit with 1 when one of these is broken."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurements and return 1 when a budget is broken.

    Args:
        argv: Command line without the program's name; by default this process's.
    """
    parser = _parser()
    asked = parser.parse_args(argv)
    if asked.render:
        page.render()
        return 0
    try:
        _make_writable(asked.folder)
    except OSError as error:
        parser.error(f"nothing can be written to {asked.folder}: {error.strerror}; choose another with --folder")
    shop = Workshop(
        folder=asked.folder.resolve(),
        rounds=asked.rounds,
        patience=asked.patience,
        with_peers=not asked.no_peers,
        largest=asked.largest,
        object_bytes=asked.object_mib << 20,
    )
    measured: list[Measured] = []
    for name in asked.measures or MEASURES:
        for one in MEASURES[name](shop):
            measured.append(one)
            _show(f"{one.key}: {one.title}", table.measured_table(one))
            if asked.record:
                machine, last = page.read_last()
                page.write_last(machine | _machine(), merged(last, [one]))
    judged = judge(read_budgets(), measured)
    partly = [Verdict.UNMEASURED] if asked.measures else []
    _show("budgets", table.budget_table(judged, left_out=partly))
    if asked.record:
        page.render()
    broken = [one for one in judged if one.verdict is Verdict.BROKEN]
    for lost in broken:
        budget, value = lost.budget, table.number(lost.value or 0)
        print(f"BROKEN: {budget.what}: {value} where {table.number(budget.limit)} is the limit", file=sys.stderr)
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=_DESCRIPTION)
    known = ", ".join(MEASURES)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", type=_measure, help=f"by default all: {known}")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench", help="for trees, peers and output")
    parser.add_argument("--rounds", type=_positive, default=5, help="that count, after one that does not")
    parser.add_argument("--patience", type=_positive, default=3, help="how many times as many, where others were busy")
    parser.add_argument("--largest", type=_positive, default=100_000, help="files of the largest tree of the growth")
    parser.add_argument(
        "--object-mib", type=_positive, default=256, help="size of the large object to stage; servers hold it in memory"
    )
    parser.add_argument("--no-peers", action="store_true", help="install and measure no peers")
    parser.add_argument("--record", action="store_true", help="write benchmarks/last.json and the documentation")
    parser.add_argument("--render", action="store_true", help="only write the documentation anew")
    return parser


def _measure(name: str) -> str:
    if name not in MEASURES:
        raise argparse.ArgumentTypeError(f"there is no {name!r}; there are {', '.join(MEASURES)}")
    return name


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def _make_writable(folder: Path) -> None:
    """Make the folder where it is not there, and try to write there: better now than an hour later.

    Raises:
        OSError: It cannot be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def _show(title: str, lines: Sequence[str]) -> None:
    print("\n".join(["", title, *lines]), flush=True)


def _machine() -> dict[str, Any]:
    return {
        "processors": os.cpu_count(),
        "system": platform.system(),
        "Python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "measured on": datetime.now(UTC).date().isoformat(),
    }


if __name__ == "__main__":
    sys.exit(main())
