"""The dependency file that applies, and the requirements in it, normalised."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.presence import is_file
from kinetic_core.packaging.relpath import absolute, same_directory
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
    # Many a project has none, and what reads one takes long to import.
    from kinetic_core.packaging.declared import declared
    from kinetic_core.packaging.requirements import normalise, read_lines

    try:
        content = path.read_bytes()
        lines, found = declared(path, content) if path.name == PYPROJECT_TOML else (read_lines(content), ())
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
