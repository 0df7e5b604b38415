"""Logs of jobs with several hosts, asked of a handle."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from kinetic.jobs.handle import JobHandle
from kinetic.jobs.ledger import JobRecord
from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobState, JobStatus
from kinetic_core.plugin import Capability
from tests.fakes.quiet_backend import QuietBackend

if TYPE_CHECKING:
    from kinetic.jobs.connection import Connection


def handle(record: JobRecord, *capabilities: Capability) -> JobHandle[Any]:
    backend = QuietBackend(JobState(status=JobStatus.SUCCEEDED), "of the leader\n")
    host = SimpleNamespace(backend_driver=lambda name: SimpleNamespace(capabilities=capabilities))
    return JobHandle(record, cast("Connection", SimpleNamespace(backend=lambda name: backend, host=host)))


def test_without_a_host_it_is_the_leaders_log(record: JobRecord) -> None:
    assert handle(record).logs() == handle(record).logs(host=0) == handle(record).tail() == "of the leader\n"


def test_a_host_or_all_can_be_asked_for(record: JobRecord, capsys: pytest.CaptureFixture[str]) -> None:
    asked = handle(record, Capability.MULTI_HOST)
    assert asked.logs(host=3) == asked.tail(host=3) == "of host 3\n"
    assert asked.logs(host="all") == "of host None\n"
    asked.logs(follow=True, host="all")
    assert capsys.readouterr().out == "of host None\n"


@pytest.mark.parametrize("host", [1, "all"])
def test_a_backend_without_several_hosts_says_so(record: JobRecord, host: Any) -> None:
    with pytest.raises(ConfigError, match=r"job-0a1b2c3d has one host, 0: the backend 'quiet' runs no job on several"):
        handle(record).logs(host=host)
