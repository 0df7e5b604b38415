"""What a `pyproject.toml` declares."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from kinetic_core.findings import Finding, Severity
from kinetic_core.packaging.requirements import Line


def declared(path: Path, content: bytes) -> tuple[tuple[Line, ...], tuple[Finding, ...]]:
    """Read `[project].dependencies`; the line of each is looked up, for the comment behind it and for messages.

    Args:
        path: Of the file, for messages.
        content: What it holds.

    Raises:
        ValueError: It is no TOML, or the dependencies are no list of texts.
    """
    text = content.decode("utf-8-sig")
    tables = tomllib.loads(text)
    told = _table(tables, "project").get("dependencies")
    if told is None:
        return (), (_none_declared(path, tables),)
    if not isinstance(told, list) or not all(isinstance(item, str) for item in told):
        raise ValueError("[project].dependencies is no list of texts")
    written = text.splitlines()
    return tuple(_line(item, written) for item in told), ()


def _line(item: str, written: list[str]) -> Line:
    for number, line in enumerate(written, start=1):
        if f'"{item}"' in line or f"'{item}'" in line:
            return Line(number=number, text=item, comment=line.rpartition("#")[2] if "#" in line else "")
    return Line(number=0, text=item, comment="")


def _none_declared(path: Path, tables: dict[str, object]) -> Finding:
    others = list(_other_tables(tables))
    message = f"{path} declares no [project].dependencies"
    return Finding(
        code="dependencies_undeclared",
        severity=Severity.WARNING,
        message=f"{message}; these hold some but are not read: {', '.join(others)}" if others else message,
        remedy="List what the job needs in [project].dependencies or in a requirements.txt beside it.",
    )


def _other_tables(tables: dict[str, object]) -> Iterator[str]:
    poetry = _table(tables, "tool", "poetry", "dependencies")
    # Every poetry project lists the interpreter there.
    if poetry.keys() - {"python"}:
        yield "[tool.poetry.dependencies]"
    if _table(tables, "project", "optional-dependencies"):
        yield "[project.optional-dependencies]"
    if _table(tables, "dependency-groups"):
        yield "[dependency-groups]"
    dynamic = _table(tables, "project").get("dynamic")
    if isinstance(dynamic, list) and "dependencies" in dynamic:
        yield "dynamic"


def _table(tables: dict[str, object], *names: str) -> dict[str, object]:
    value: object = tables
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
