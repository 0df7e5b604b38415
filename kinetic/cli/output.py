"""Output: tables for people at a terminal, plain columns for pipes, JSON for programs."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kinetic_core.packaging.printable import printable


def print_json(value: Any) -> None:
    """Print a JSON value, indented, as ASCII: any terminal and any pipe takes it."""
    print(json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Print rows under their columns, or one line that says that there are none.

    Colour and lines only at a terminal; `NO_COLOR` is honoured.
    """
    if not rows:
        print(empty)
        return
    shown = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_rich(columns, shown)
    else:
        _print_plain([[column.upper() for column in columns], *shown])


def print_fields(fields: Mapping[str, str]) -> None:
    """Print one `name  value` line each, aligned."""
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        print(f"{name:<{width}}  {printable(value)}".rstrip())


def complain(error: BaseException) -> None:
    """Print a failure of ours on stderr: its message and its notes, no traceback."""
    text = "\n".join([str(error) or type(error).__name__, *getattr(error, "__notes__", ())])
    first, *rest = text.splitlines()
    sys.stderr.write("".join(f"{printable(line)}\n" for line in (f"kinetic: {first}", *(f"  {line}" for line in rest))))


def human_size(size_bytes: int) -> str:
    """Return a size for a person; MB is 1024² bytes.

    >>> human_size(900), human_size(2048), human_size(5 << 20)
    ('900 B', '2.0 KB', '5.0 MB')
    """
    if size_bytes < 1024:  # noqa: PLR2004  bytes are counted as they are
        return f"{size_bytes} B"
    size, units = size_bytes / 1024, ["KB", "MB", "GB"]
    while size >= 1023.95 and len(units) > 1:  # noqa: PLR2004  what rounds to 1024.0 is one of the next unit
        size, units = size / 1024, units[1:]
    return f"{size:.1f} {units[0]}"


def _print_rich(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)


def _print_plain(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
