"""Options that a backend cannot honour are told before anything is uploaded."""

from typing import Any

import pytest

from kinetic.submission.target import _unsupported
from kinetic_core.findings import Severity
from kinetic_core.model.request import RunOptions
from kinetic_core.plugin import Backend, BackendDriver, Capability, DriverContext


def opened(context: DriverContext) -> Backend:
    raise AssertionError("looking at options opens no backend")


def told(options: dict[str, Any], *capabilities: Capability, remote: bool = True) -> dict[str, Severity]:
    driver = BackendDriver(name="slurm", open=opened, capabilities=capabilities, remote=remote)
    return {finding.code: finding.severity for finding in _unsupported(driver, RunOptions(**options))}


@pytest.mark.parametrize(
    ("options", "capability"),
    [
        ({"hosts": 2}, Capability.MULTI_HOST),
        ({"debug": True}, Capability.DEBUG),
        ({"secrets": ["A"]}, Capability.SECRETS),
    ],
)
def test_what_needs_a_capability_is_an_error_without_it(options: dict[str, Any], capability: Capability) -> None:
    assert told(options) == {f"{next(iter(options))}_unsupported": Severity.ERROR}
    assert told(options, capability, remote=False) == {}


def test_one_host_is_what_every_backend_has() -> None:
    assert told({"hosts": 1}) == {}


def test_how_jobs_run_on_this_machine_is_ignored_elsewhere_and_told() -> None:
    options = {"python": "3.12", "memory_limit": "2Gi", "isolation": "venv"}
    assert told(options) == {"option_ignored": Severity.WARNING}
    assert told(options, remote=False) == {}
    # A slice has as many hosts as it has.
    assert told({"hosts": 2}, Capability.MULTI_HOST) == {"option_ignored": Severity.WARNING}
