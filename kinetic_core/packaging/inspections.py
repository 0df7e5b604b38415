"""What a finished package gives reason to say: its size, what looks like a secret, what weighs most."""

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.entry import ArchiveEntry
from kinetic_core.model.package import Manifest, Package
from kinetic_core.model.request import RunRequest
from kinetic_core.packaging.printable import printable
from kinetic_core.wire.names import PLAN_PATH

ENV_CONTEXT_WARN: Final = "KINETIC_CONTEXT_SIZE_WARN_MB"
ENV_PAYLOAD_WARN: Final = "KINETIC_PAYLOAD_SIZE_WARN_MB"
DEFAULT_CONTEXT_WARN_MB: Final = 100.0
DEFAULT_PAYLOAD_WARN_MB: Final = 50.0
SECRET_PATTERNS: Final = (".env*", "*.pem", "id_rsa*")
_SECRET_PARTS: Final = tuple(pattern.strip("*") for pattern in SECRET_PATTERNS)
_MB: Final = 1024**2
_HEAVIEST: Final = 5


def inspect(package: Package, request: RunRequest) -> tuple[Finding, ...]:
    """Look at a finished package the way every submission does.

    Args:
        package: Complete.
        request: For the thresholds in its environment.

    Returns:
        Always the size of the context; then warnings about secret-looking files and about sizes.
    """
    environ = request.surroundings.environ
    return (
        context_summary(package),
        *secret_looking(package.manifest),
        *context_size(package, environ),
        *payload_size(package, environ),
    )


def context_summary(package: Package) -> Finding:
    """Say how large the archive is and how many files it holds."""
    count = file_count(package.manifest)
    size = megabytes(package.context.size_bytes)
    message = f"the context archive holds {count} {'file' if count == 1 else 'files'} and weighs {size}"
    return Finding(code="context_archived", severity=Severity.INFO, message=message)


def file_count(manifest: Manifest) -> int:
    """Count the project's own files in the archive, at the price of their names.

    >>> file_count(Manifest(entries=(ArchiveEntry(name="a/", size_bytes=0, mode=0o755),)))
    0
    """
    together = _together(manifest.names)
    return len(manifest.names) - together.count("/\0") - together.count(f"\0{PLAN_PATH}\0")


def _together(names: Sequence[str]) -> str:
    """Return the names as one text, to look through at the speed of C; no name holds the character between them."""
    return "\0".join(["", *names, ""])


def files(manifest: Manifest) -> tuple[ArchiveEntry, ...]:
    """Return the project's own files in the archive: neither directories nor the plan.

    >>> entry = ArchiveEntry(name="a/", size_bytes=0, mode=0o755)
    >>> files(Manifest(entries=(entry,)))
    ()
    """
    return tuple(entry for entry in manifest.entries if not entry.name.endswith("/") and entry.name != PLAN_PATH)


def is_secret_looking(name: str) -> bool:
    """Tell whether the last part of an entry's name looks like that of a secret.

    >>> is_secret_looking("sub/.env.local"), is_secret_looking("environment.py")
    (True, False)
    """
    last = name.rpartition("/")[2]
    return any(fnmatchcase(last, pattern) for pattern in SECRET_PATTERNS)


def secret_looking(manifest: Manifest) -> tuple[Finding, ...]:
    """Warn once about every archived file whose name looks like that of a secret.

    >>> secret_looking(Manifest(entries=(ArchiveEntry(name="x.pem", size_bytes=9, mode=0o600),)))[0].code
    'secret_looking_files'
    """
    together = _together(manifest.names)
    # Most trees hold nothing of the kind, which one look tells.
    if not any(part in together for part in _SECRET_PARTS):
        return ()
    names = [printable(entry.name) for entry in files(manifest) if is_secret_looking(entry.name)]
    if not names:
        return ()
    return (
        Finding(
            code="secret_looking_files",
            severity=Severity.WARNING,
            message=f"files that look like secrets ship with the job: {', '.join(names)}",
            remedy="Name them in .kineticignore to keep them out; pass secrets with secrets=[…] instead.",
        ),
    )


def context_size(package: Package, environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """Warn about a large archive and list its five largest files."""
    limit_mb, findings = _threshold(environ, ENV_CONTEXT_WARN, DEFAULT_CONTEXT_WARN_MB)
    if not _exceeds(package.context.size_bytes, limit_mb):
        return findings
    largest = sorted(files(package.manifest), key=lambda entry: (-entry.size_bytes, entry.name))[:_HEAVIEST]
    listed = ", ".join(f"{printable(entry.name)} ({megabytes(entry.size_bytes)})" for entry in largest)
    size = megabytes(package.context.size_bytes)
    warning = Finding(
        code="context_large",
        severity=Severity.WARNING,
        message=f"the context archive weighs {size}, more than {limit_mb:g} MB; its largest files: {listed}",
        remedy="Keep what the job does not need out with .kineticignore, pass data as Data(…), "
        f"or set {ENV_CONTEXT_WARN} (0 turns this off).",
    )
    return (*findings, warning)


def payload_size(package: Package, environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """Warn about a large payload and name what weighs most in it."""
    limit_mb, findings = _threshold(environ, ENV_PAYLOAD_WARN, DEFAULT_PAYLOAD_WARN_MB)
    if not _exceeds(package.payload.size_bytes, limit_mb):
        return findings
    heaviest = sorted(package.payload_components, key=lambda part: -part.size_bytes)[:_HEAVIEST]
    listed = ", ".join(f"{part.name} ({megabytes(part.size_bytes)})" for part in heaviest)
    message = (
        f"the payload weighs {megabytes(package.payload.size_bytes)}, more than {limit_mb:g} MB: arguments, and the "
        "globals and closed-over objects that the function reads, are captured by value and travel with every call"
    )
    warning = Finding(
        code="payload_large",
        severity=Severity.WARNING,
        message=f"{message}; the heaviest: {listed}" if listed else message,
        remedy="Load large objects inside the function, pass files as Data(…), "
        f"or set {ENV_PAYLOAD_WARN} (0 turns this off).",
    )
    return (*findings, warning)


def megabytes(size_bytes: int) -> str:
    """Return a size for a person; MB is 1024² bytes.

    >>> megabytes(3 * 1024 * 1024 // 2), megabytes(900), megabytes(2048)
    ('1.5 MB', '900 bytes', '2.0 KB')
    """
    if size_bytes >= _MB:
        return f"{size_bytes / _MB:.1f} MB"
    return f"{size_bytes / 1024:.1f} KB" if size_bytes >= 1024 else f"{size_bytes} bytes"  # noqa: PLR2004


def _exceeds(size_bytes: int, limit_mb: float) -> bool:
    return limit_mb > 0 and size_bytes > limit_mb * _MB


def _threshold(environ: Mapping[str, str], name: str, default: float) -> tuple[float, tuple[Finding, ...]]:
    raw = environ.get(name, "")
    if not raw:
        return default, ()
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and value >= 0:
        return value, ()
    finding = Finding(
        code="setting_ignored",
        severity=Severity.WARNING,
        message=f"{name}={raw!r} is not a finite number of 0 or more; using {default:g}",
        remedy=f"Set {name} to a number of MB; 0 turns the warning off.",
    )
    return default, (finding,)
