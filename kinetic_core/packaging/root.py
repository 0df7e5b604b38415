"""The package root: the directory whose tree ships. Pure; it looks at nothing but what `stat` tells."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kinetic_core.errors import PackagingError
from kinetic_core.findings import Finding, Severity
from kinetic_core.model.package import PackageRoot
from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.entry import Entry, entry_of
from kinetic_core.packaging.presence import exists, is_directory, is_file
from kinetic_core.packaging.relpath import absolute, relative, same_directory

ENV_PACKAGE_ROOT: Final = "KINETIC_PACKAGE_ROOT"
MARKER_FILES: Final = ("pyproject.toml", "requirements.txt", "setup.py", "setup.cfg")
GIT: Final = ".git"


def find_root(function: object, surroundings: Surroundings) -> PackageRoot:
    """Find the directory whose tree ships with a function, and remember why.

    Args:
        function: The callable as the user passed it.
        surroundings: Environment (`KINETIC_PACKAGE_ROOT`), home and working directory.

    Raises:
        PackagingError: `KINETIC_PACKAGE_ROOT` names no existing directory, or one that does not hold the
            entry directory.

    >>> here = Surroundings(environ={}, home=Path("/nowhere/u"), cwd=Path("/nowhere/u/nb"), sys_path=())
    >>> root = find_root(eval("lambda: 1", {}), here)
    >>> root.path, root.step
    (PosixPath('/nowhere/u/nb'), 'entry')
    """
    entry = entry_of(function, surroundings)
    raw = surroundings.environ.get(ENV_PACKAGE_ROOT, "")
    if raw:
        path = _override(raw, entry, surroundings)
        step, reason, trail = "override", f"{ENV_PACKAGE_ROOT}={raw} says so", [f"{path}: {ENV_PACKAGE_ROOT}={raw}"]
    else:
        path, step, reason, trail = _walk(entry, surroundings.home)
    return PackageRoot(
        path=path,
        step=step,
        reason=reason,
        trail=(entry.explanation, *trail),
        entry=entry.directory,
        findings=tuple(_findings(entry, path, surroundings.home)),
    )


def _override(raw: str, entry: Entry, surroundings: Surroundings) -> Path:
    resolved = absolute(_expanded(raw, surroundings.home), surroundings.cwd)
    what = f"{ENV_PACKAGE_ROOT}={raw!r} (resolved: {resolved})"
    advice = f"Set it to a directory that holds the entry directory {entry.directory}, or unset it."
    if not is_directory(resolved):
        raise PackagingError(f"{what} is no existing directory, so there is no tree to ship. {advice}")
    if relative(entry.directory, resolved) is None:
        message = f"{what} does not hold the entry directory {entry.directory}, so the function's code would not ship."
        raise PackagingError(f"{message} {advice}")
    return resolved


def _expanded(raw: str, home: Path) -> str:
    if not raw.startswith("~"):
        return raw
    user, slash, rest = raw[1:].partition("/")
    return f"{home if not user else _home_of(user) or raw[: len(user) + 1]}{slash}{rest}"


def _home_of(user: str) -> str | None:
    import pwd

    try:
        return pwd.getpwnam(user).pw_dir
    except KeyError:
        return None


def _walk(entry: Entry, home: Path) -> tuple[Path, str, str, list[str]]:
    base, trail = _escape_package(entry.directory, home)
    directory = base
    while True:
        stop = _stop(directory, home)
        marker = next(_markers(directory), None)
        if marker is not None and (stop is None or directory == base):
            trail.append(f"{directory}: holds {marker}")
            return directory, "marker", f"it is the nearest directory that holds a marker ({marker})", trail
        if stop is not None:
            trail.append(f"{directory}: {stop}, the walk stops here")
            break
        trail.append(f"{directory}: no marker")
        directory = directory.parent
    if base != entry.directory:
        return base, "package", "no marker was found; it holds the function's top-level package", trail
    return base, "entry", "no marker was found; it holds the function's file", trail


def _escape_package(directory: Path, home: Path) -> tuple[Path, list[str]]:
    trail = []
    while is_file(directory / "__init__.py") and _stop(directory, home) is None:
        trail.append(f"{directory}: part of a package")
        directory = directory.parent
    return directory, trail


def _stop(directory: Path, home: Path) -> str | None:
    if same_directory(directory, Path(directory.anchor)):
        return "the root of the file system"
    if same_directory(directory, home):
        return "the home directory"
    return None


def _markers(directory: Path) -> Iterator[str]:
    yield from (name for name in MARKER_FILES if is_file(directory / name))
    if holds_git(directory):
        yield GIT


def holds_git(directory: Path) -> bool:
    """Tell whether a directory is the top of a git checkout; worktrees and submodules have a file there.

    >>> holds_git(Path("/nowhere"))
    False
    """
    return exists(directory / GIT)


def _findings(entry: Entry, root: Path, home: Path) -> Iterator[Finding]:
    if not entry.has_source:
        yield Finding(code="entry_without_source", severity=Severity.INFO, message=entry.explanation)
    stop = _stop(root, home)
    if stop is not None:
        yield Finding(
            code="root_too_wide",
            severity=Severity.WARNING,
            message=f"the package root is {root}, {stop}: everything below it ships with the job",
            remedy=f"Move the code into a directory of its own, or set {ENV_PACKAGE_ROOT}.",
        )
