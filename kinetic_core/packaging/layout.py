"""The packaging plan: where entry directory, working directory and import path lie, relative to the root."""

import itertools
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kinetic_core.model.package import Exclusion, PackageRoot
from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.presence import is_directory, is_file
from kinetic_core.packaging.relpath import Links, absolute, spellings
from kinetic_core.packaging.rules import ALWAYS, ALWAYS_NAMES, DEFAULT, default_rules
from kinetic_core.wire.plan import Plan

MAX_EXCLUDED_FILES: Final = 1_000

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


def make_plan(
    root: PackageRoot,
    surroundings: Surroundings,
    *,
    excluded: Mapping[str, int],
    extensions: Mapping[str, Any],
    exclusions: Iterable[Exclusion] = (),
) -> Plan:
    """Describe the client's directories so that the pod can rebuild them.

    Args:
        root: Package root and entry directory.
        surroundings: Working directory and `sys.path`.
        excluded: Counts of exclusions per source.
        extensions: What plugins add, keyed by entry-point name; JSON.
        exclusions: What was kept out; the first 1,000 of those that no built-in rule kept out stand in the plan.

    >>> root = PackageRoot(path=Path("/p"), step="entry", reason="", trail=(), entry=Path("/p/src"))
    >>> here = Surroundings(environ={}, home=Path("/home/u"), cwd=Path("/q"), sys_path=("/p", "/usr/lib"))
    >>> plan = make_plan(root, here, excluded={}, extensions={})
    >>> plan.entry_rel, plan.client_cwd_rel, plan.sys_path_rel
    ('src', None, ('',))
    """
    absent, links = absent_names(surroundings.environ), Links()
    return Plan(
        package_root=str(root.path),
        entry_rel=_shipped_spelling(root.entry, root.path, absent, links) or "",
        client_cwd_rel=_shipped_spelling(surroundings.cwd, root.path, absent, links),
        sys_path_rel=tuple(dict.fromkeys(["", *_sys_path(root.path, surroundings, absent, links)])),
        excluded=dict(excluded),
        excluded_files=dict(itertools.islice(_told(exclusions), MAX_EXCLUDED_FILES)),
        extensions=dict(extensions),
    )


def _told(exclusions: Iterable[Exclusion]) -> Iterator[tuple[str, str]]:
    for exclusion in exclusions:
        if exclusion.source not in (ALWAYS, DEFAULT):
            yield exclusion.name, f"{exclusion.rule} ({exclusion.source})"


def absent_names(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the names of directories that the built-in rules keep out of every archive.

    >>> ".venv" in absent_names({}), ".venv" in absent_names({"KINETIC_NO_DEFAULT_EXCLUDES": "1"})
    (True, False)
    """
    return frozenset([*ALWAYS_NAMES, *(rule.pattern for rule in default_rules(environ))])


def _sys_path(root: Path, surroundings: Surroundings, absent: frozenset[str], links: Links) -> Iterator[str]:
    # The interpreter promises texts; other tools put paths and import hooks there too.
    entries: Iterable[object] = surroundings.sys_path
    for entry in entries:
        if not isinstance(entry, str):
            continue
        path = absolute(entry, surroundings.cwd)
        ways = spellings(path, root, links)
        if not ways or _is_installed(path, root, ways) or not _is_importable(path):
            continue
        rel = next((rel for rel in ways if not absent & _parts(rel)), None)
        if rel is not None:
            yield rel


def _is_installed(path: Path, root: Path, ways: tuple[str, ...]) -> bool:
    """Tell whether the entry holds installed packages, under its own name or that of a link's target."""
    real = Path(os.path.realpath(path))
    target = () if real.is_relative_to(os.path.realpath(root)) else real.parts
    return any(INSTALLED & _parts(rel) for rel in ways) or not INSTALLED.isdisjoint(target)


def _is_importable(path: Path) -> bool:
    return is_directory(path) or (is_file(path) and zipfile.is_zipfile(path))


def _shipped_spelling(path: Path, root: Path, absent: frozenset[str], links: Links) -> str | None:
    ways = spellings(path, root, links)
    return next((rel for rel in ways if not absent & _parts(rel)), next(iter(ways), None))


def _parts(rel: str) -> set[str]:
    return set(rel.split("/"))
