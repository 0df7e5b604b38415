"""Findings, as programs read them."""

import json

from kinetic_core.findings import Finding, Severity, sort_findings


def test_a_finding_is_a_flat_json_object() -> None:
    finding = Finding(code="context_large", severity=Severity.WARNING, message="too much", remedy="ignore it")
    raw = json.loads(json.dumps(finding.to_json()))
    assert raw == {"code": "context_large", "severity": "warning", "message": "too much", "remedy": "ignore it"}


def test_the_gravest_come_first_and_none_twice() -> None:
    made = [
        Finding(code=code, severity=severity, message="")
        for code, severity in (
            ("a", Severity.INFO),
            ("b", Severity.ERROR),
            ("c", Severity.WARNING),
            ("b", Severity.ERROR),
        )
    ]
    assert [finding.code for finding in sort_findings(made)] == ["b", "c", "a"]
