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
        # Slow, as it reads what every distribution holds: only for packages named otherwise than their distribution.
        owners = metadata.packages_distributions()
        for name in sorted({owner for package in unknown for owner in owners.get(package, ())}):
            versions[name] = metadata.version(name)
    return dict(sorted(versions.items()))
