"""Findings at the edge."""

import logging

import pytest

from kinetic.submission.inspection import report_findings
from kinetic_core.errors import PackagingError, PreflightError
from kinetic_core.findings import Finding, Severity


def finding(severity: str, message: str, remedy: str = "") -> Finding:
    return Finding(code="c", severity=Severity(severity), message=message, remedy=remedy)


def test_all_errors_stop_together_with_their_remedies() -> None:
    with pytest.raises(PackagingError) as caught:
        report_findings([finding("error", "one", "mend it"), finding("info", "x"), finding("error", "two")])
    assert str(caught.value) == "one; mend it\ntwo"


def test_the_caller_says_what_kind_of_stop_it_is() -> None:
    with pytest.raises(PreflightError, match="one"):
        report_findings([finding("error", "one")], stop_with=PreflightError)


def test_each_warning_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kinetic"):
        report_findings([finding("warning", "careful"), finding("warning", "careful"), finding("info", "fine")])
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
