"""Findings at the edge: each is logged once, and errors stop the submission together."""

from collections.abc import Sequence

from kinetic.log import get_logger, report, sentence
from kinetic_core.errors import KineticError, PackagingError
from kinetic_core.findings import Finding, errors, sort_findings


def report_findings(findings: Sequence[Finding], *, stop_with: type[KineticError] = PackagingError) -> None:
    """Log every finding once, the gravest first.

    Raises:
        PackagingError: Or what `stop_with` names: at least one is an error; the message holds them all.
    """
    ordered = sort_findings(findings)
    grave = errors(ordered)
    report([finding for finding in ordered if finding not in grave], get_logger("kinetic.submission"))
    if grave:
        raise stop_with("\n".join(sentence(finding.message, finding.remedy) for finding in grave))
