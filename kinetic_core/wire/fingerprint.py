"""Fingerprints: which versions made an artifact, compared with those that open it."""

import platform
from collections.abc import Mapping


def fingerprint(*, cloudpickle: str, kinetic: str, distributions: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return this side's fingerprint, the `client_fingerprint` of a payload.

    Args:
        cloudpickle: Version of the cloudpickle in use.
        kinetic: Version of this distribution.
        distributions: Versions of the distributions that the payload refers to.

    >>> sorted(fingerprint(cloudpickle="3.1.3", kinetic="0.1.0"))
    ['cloudpickle', 'kinetic', 'python']
    """
    made: dict[str, object] = {"python": platform.python_version(), "cloudpickle": cloudpickle, "kinetic": kinetic}
    if distributions:
        made["distributions"] = dict(distributions)
    return made


def skew(client: Mapping[str, object], pod: Mapping[str, object]) -> tuple[str, ...]:
    """Name both sides of each version that differs in a way that can break a payload.

    Python differs by minor version, cloudpickle by any version, other distributions by major version.

    >>> skew({"python": "3.12.2", "cloudpickle": "3.1.3"}, {"python": "3.11.9", "cloudpickle": "3.1.3"})
    ('client Python 3.12.2 / pod Python 3.11.9',)
    """
    found: list[str] = []
    for key, name, parts in (("python", "Python", 2), ("cloudpickle", "cloudpickle", None)):
        ours, theirs = client.get(key), pod.get(key)
        if isinstance(ours, str) and isinstance(theirs, str) and _cut(ours, parts) != _cut(theirs, parts):
            found.append(f"client {name} {ours} / pod {name} {theirs}")
    ours, theirs = client.get("distributions"), pod.get("distributions")
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        found += [
            f"client {name} {ours[name]} / pod {name} {theirs[name]}"
            for name in sorted(set(ours) & set(theirs))
            if _cut(str(ours[name]), 1) != _cut(str(theirs[name]), 1)
        ]
    return tuple(found)


def _cut(version: str, parts: int | None) -> list[str]:
    return version.split(".")[:parts]
