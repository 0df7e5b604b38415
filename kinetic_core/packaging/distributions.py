"""Distributions: which versions of installed libraries a payload refers to."""

import sys
from collections.abc import Iterable
from importlib import metadata


def distribution_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return name and version of the distributions that hold these top-level packages.

    What belongs to the standard library or to no distribution is left out.

    >>> distribution_versions(["json", "no_such_package"])
    {}
    """
    versions: dict[str, str] = {}
    unknown: list[str] = []
    for package in sorted({name for name in packages if name not in sys.stdlib_module_names}):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            unknown.append(package)
    if unknown:
        # It looks at every distribution: only for packages named otherwise than theirs.
        versions.update(
            (found.metadata["Name"], found.version) for found in metadata.distributions() if _holds(found, unknown)
        )
    return dict(sorted(versions.items()))


def _holds(distribution: metadata.Distribution, packages: list[str]) -> bool:
    """Tell whether one of the packages is a distribution's; `packages_distributions` is ten times slower."""
    if declared := distribution.read_text("top_level.txt"):
        return not set(packages).isdisjoint(declared.split())
    listed = f"\n{distribution.read_text('RECORD') or ''}"
    return any(f"\n{package}/" in listed or f"\n{package}." in listed for package in packages)
