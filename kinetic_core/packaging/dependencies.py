"""The dependency file that applies, and the requirements in it, normalised."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.presence import is_file
from kinetic_core.packaging.relpath import absolute, same_directory
from kinetic_core.packaging.requirements import Line, normalise, read_lines
from kinetic_core.packaging.root import holds_git

REQUIREMENTS_TXT: Final = "requirements.txt"
PYPROJECT_TOML: Final = "pyproject.toml"


@attrs.frozen(kw_only=True)
class Dependencies:
    """What the project says it needs."""

    path: Path | None
    """The file that applies; `None` when there is none."""
    requirements: str | None
    """One requirement or option a line; `None` when no file applies or it cannot be read."""
    findings: tuple[Finding, ...]


def find_dependencies(
    entry: Path, surroundings: Surroundings, *, remote: bool, installed: bool = False
) -> Dependencies:
    """Find the dependency file for an entry directory and normalise what it holds.

    Walks up from the entry directory; `requirements.txt` wins over `pyproject.toml` at each level. Stops after the
    first directory with `.git`, at home and at the root of the file system.

    Args:
        entry: The entry directory, absolute.
        surroundings: For the home directory.
        remote: Whether the install happens elsewhere; lines that point at local paths are then errors.
        installed: Whether somebody will install them all for the job; lines that no installer reads are then errors.

    >>> here = Surroundings(environ={}, home=Path("/nowhere"), cwd=Path("/nowhere"), sys_path=())
    >>> find_dependencies(Path("/nowhere"), here, remote=True).path is None
    True
    """
    entry = absolute(entry, surroundings.cwd)
    walk = tuple(_upwards(entry, surroundings.home))
    for directory in walk:
        present = [name for name in (REQUIREMENTS_TXT, PYPROJECT_TOML) if is_file(directory / name)]
        if present:
            findings = _choice(directory, present, entry, in_project=holds_git(walk[-1]))
            return _read(directory / present[0], tuple(findings), remote=remote, installed=installed)
    return Dependencies(path=None, requirements=None, findings=())


def _upwards(entry: Path, home: Path) -> Iterator[Path]:
    for directory in (entry, *entry.parents):
        yield directory
        if holds_git(directory) or same_directory(directory, home):
            return


def _choice(directory: Path, present: list[str], entry: Path, *, in_project: bool) -> Iterator[Finding]:
    path = directory / present[0]
    yield Finding(code="dependency_file_used", severity=Severity.INFO, message=f"Using dependency file: {path}")
    if len(present) > 1:
        message = f"{path} wins over {PYPROJECT_TOML} beside it"
        yield Finding(code="dependency_file_preferred", severity=Severity.INFO, message=message)
    if directory != entry and not in_project:
        yield Finding(
            code="dependency_file_above",
            severity=Severity.WARNING,
            message=f"{path} lies above the entry directory {entry}, and no .git says that both are one project",
            remedy="Put a dependency file beside the code, or run git init at the top of the project.",
        )


def _read(path: Path, findings: tuple[Finding, ...], *, remote: bool, installed: bool) -> Dependencies:
    try:
        content = path.read_bytes()
        lines, found = _declared(path, content) if path.name == PYPROJECT_TOML else (read_lines(content), ())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        unusable = Finding(
            code="dependency_file_unusable",
            severity=Severity.ERROR if installed else Severity.WARNING,
            message=f"{path} cannot be used: {reason}",
            remedy="Repair it." if installed else "Repair it; without it the job runs with what its image holds.",
        )
        return Dependencies(path=path, requirements=None, findings=(*findings, unusable))
    requirements, noted = normalise(path, lines, remote=remote, installed=installed)
    return Dependencies(path=path, requirements=requirements, findings=(*findings, *found, *noted))


def _declared(path: Path, content: bytes) -> tuple[tuple[Line, ...], tuple[Finding, ...]]:
    """Read `[project].dependencies`; the line of each is looked up, for the comment behind it and for messages."""
    text = content.decode("utf-8-sig")
    tables = tomllib.loads(text)
    declared = _table(tables, "project").get("dependencies")
    if declared is None:
        return (), (_none_declared(path, tables),)
    if not isinstance(declared, list) or not all(isinstance(item, str) for item in declared):
        raise ValueError("[project].dependencies is no list of texts")
    written = text.splitlines()
    return tuple(_line(item, written) for item in declared), ()


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
