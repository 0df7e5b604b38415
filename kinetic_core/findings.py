"""What the core has to say: findings travel as values, and the client reports them once.

The core neither logs nor prints. Each function returns its value together with the findings it made.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import attrs


class Severity(StrEnum):
    """How much a finding matters."""

    INFO = "info"
    """Good to know; logged, never printed unasked."""
    WARNING = "warning"
    """The user should act."""
    ERROR = "error"
    """The submission stops."""


_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@attrs.frozen(kw_only=True)
class Finding:
    """One fact worth telling, with what to do about it.

    >>> Finding(code="context_large", severity=Severity.WARNING, message="the context weighs 212 MB").code
    'context_large'
    """

    code: str
    """A stable snake_case name, for programs."""
    severity: Severity = attrs.field(converter=Severity)
    message: str
    """What happened, with the offending value; never a secret's value."""
    remedy: str = ""
    """What to do about it; empty where nothing need be done."""

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {"code": self.code, "severity": str(self.severity), "message": self.message, "remedy": self.remedy}


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings without repetition, the gravest first, otherwise in the order they were made."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _ORDER[finding.severity]))


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return only the findings that stop a submission."""
    return tuple(finding for finding in findings if finding.severity is Severity.ERROR)
