"""Deciding, before anything is written, whether every entry of an archive may be extracted, and to where."""

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kinetic_core.wire.names import ENV_MAX_CONTEXT_GB
from kinetic_runner.ziplist import ZipEntry

# Parts that neither begin with a dot nor hold what separates or ends somewhere: most names are done with after this.
_PLAIN: Final = re.compile(r"(?:[^\\:\0/.][^\\:\0/]*/)*[^\\:\0/.][^\\:\0/]*")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_GIB: Final = 1 << 30
_MAX_BYTES: Final = 10 * _GIB
_MAX_RATIO: Final = 200
_METHODS: Final = (0, 8)
_MANY_FILES: Final = 2_000
_BYTES_A_FILE: Final = 4_096
"""What a file itself costs, in bytes that could be unpacked meanwhile."""


@dataclass(slots=True)
class Plot:
    """What will be written, decided for the whole archive."""

    files: list[tuple[str, ZipEntry]]
    """Path relative to the workspace, and the entry."""
    directories: dict[str, ZipEntry | None]
    """Every directory, parents first; with its entry where the archive has one."""
    links: list[str]
    """Names of entries that are links or devices, which are never made."""


def plot(entries: Iterable[ZipEntry]) -> Plot:
    """Decide where each entry goes.

    Raises:
        ValueError: A name leads out of the workspace, or two entries have one place; the message has it.
    """
    made = Plot([], {}, [])
    seen: set[str] = set()
    for entry in entries:
        path = _spelled(checked_path(entry.name))
        kind = stat.S_IFMT(entry.unix_mode or 0)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            made.links.append(entry.name)
            continue
        if path in seen:
            raise ValueError(f"the archive holds {entry.name!r} twice")
        if path:
            seen.add(path)
        _add_parents(path, made.directories)
        if entry.name.endswith("/"):
            made.directories[path] = entry
            continue
        if entry.method not in _METHODS:
            raise ValueError(f"entry {entry.name!r} is packed by method {entry.method}, which no context uses")
        if entry.method == 0 and entry.packed_bytes != entry.size_bytes:
            raise ValueError(f"entry {entry.name!r} does not have the size that it declares")
        made.files.append((path, entry))
    for path, entry in made.files:
        if path in made.directories:
            raise ValueError(f"the archive holds {entry.name!r} both as a file and as a directory")
    return made


def halves(files: Sequence[tuple[str, ZipEntry]]) -> tuple[Sequence[tuple[str, ZipEntry]], ...]:
    """Return two parts that take about as long to write; the second is empty where a second process does not pay."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if cores < 2 or len(files) < _MANY_FILES:  # noqa: PLR2004 - one core for each half
        return files, ()
    half = sum(entry.packed_bytes + _BYTES_A_FILE for _, entry in files) // 2
    at = 0
    while half > 0:
        half -= files[at][1].packed_bytes + _BYTES_A_FILE
        at += 1
    return files[:at], files[at:]


def checked_path(name: str) -> str:
    r"""Return an entry's path relative to the workspace, without empty parts.

    Raises:
        ValueError: It is absolute, climbs, has a drive or a NUL, or does so where `\` separates.

    >>> checked_path("src//pkg/./a.py")
    'src/pkg/a.py'
    """
    if _PLAIN.fullmatch(name):
        return name
    parts = name.replace("\\", "/").split("/")
    if "\0" in name or ".." in parts or name.startswith(("/", "\\")) or _DRIVE.match(name):
        raise ValueError(f"entry {name!r} leads out of the workspace")
    path = "/".join(part for part in name.split("/") if part not in ("", "."))
    if not path and not name.endswith("/"):
        raise ValueError(f"entry {name!r} has no name")
    return path


def _spelled(path: str) -> str:
    """Return a path as this process has to spell it, whose encoding of names need not be UTF-8."""
    return path if path.isascii() else os.fsdecode(path.encode())


def check_size(entries: Iterable[ZipEntry], archive_bytes: int, environ: Mapping[str, str]) -> str | None:
    """Refuse an archive that would expand beyond measure.

    Args:
        entries: All of them.
        archive_bytes: What the archive itself takes.
        environ: May hold `KINETIC_MAX_CONTEXT_GB`, which then alone is the limit.

    Returns:
        A warning when that variable cannot be used.

    Raises:
        ValueError: Too large; says how large, and the limit.
    """
    total = sum(entry.size_bytes for entry in entries)
    limit, warning = max(_MAX_BYTES, _MAX_RATIO * archive_bytes), None
    text = environ.get(ENV_MAX_CONTEXT_GB, "").strip()
    if text:
        asked = _gib(text)
        limit = limit if asked is None else asked
        warning = None if asked is not None else f"{ENV_MAX_CONTEXT_GB}={text!r} is no positive number and is ignored"
    if total > limit:
        raise ValueError(
            f"the context would expand from {archive_bytes} to {total} bytes, more than the limit of {limit};"
            f" set {ENV_MAX_CONTEXT_GB} in the pod's environment if that is meant"
        )
    return warning


def _gib(text: str) -> int | None:
    try:
        return int(float(text) * _GIB) if float(text) > 0 else None
    except (ValueError, OverflowError):
        return None


def _add_parents(path: str, directories: dict[str, ZipEntry | None]) -> None:
    parent = path.rpartition("/")[0]
    if not parent or parent in directories:
        return
    missing = [parent]
    while (parent := parent.rpartition("/")[0]) and parent not in directories:
        missing.append(parent)
    for one in reversed(missing):
        directories[one] = None
