"""What cannot ship: its record, and the warning about it."""

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.package import SkippedEntry
from kinetic_core.packaging.printable import printable


def skip(name: str, code: str, reason: str) -> tuple[SkippedEntry, Finding]:
    """Record something that cannot ship, with the warning about it; both name it printably.

    >>> skip("pipe", "special_file", "it is a FIFO, not a file")[1].message
    "skipped 'pipe': it is a FIFO, not a file"
    """
    shown = printable(name)
    finding = Finding(
        code=code,
        severity=Severity.WARNING,
        message=f"skipped '{shown}': {reason}",
        remedy="The job runs without it; exclude it in .kineticignore to silence this.",
    )
    return SkippedEntry(name=shown, reason=reason), finding
