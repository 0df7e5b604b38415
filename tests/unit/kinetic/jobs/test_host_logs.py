"""Logs of jobs with several hosts, asked of a handle."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from kinetic.jobs.handle import JobHandle
from kinetic.jobs.ledger import JobRecord
from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobRef, JobState, JobStatus
from tests.fakes.quiet_backend import QuietBackend

if TYPE_CHECKING:
    from kinetic.jobs.connection import Connection


class OneHost:
    """A backend with one log."""

    def logs(self, ref: JobRef, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
        return iter(("of the leader\n",))


def handle(record: JobRecord, backend: object) -> JobHandle[Any]:
    return JobHandle(record, cast("Connection", SimpleNamespace(backend=lambda name: backend)))


def test_without_a_host_it_is_the_leaders_log(record: JobRecord) -> None:
    asked = handle(record, OneHost())
    assert asked.logs() == asked.logs(host=0) == asked.tail() == "of the leader\n"


def test_a_host_or_all_can_be_asked_for(record: JobRecord, capsys: pytest.CaptureFixture[str]) -> None:
    asked = handle(record, QuietBackend(JobState(status=JobStatus.SUCCEEDED)))
    assert asked.logs(host=3) == asked.tail(host=3) == "of host 3\n"
    assert asked.logs(host="all") == "of host None\n"
    asked.logs(follow=True, host="all")
    assert capsys.readouterr().out == "of host None\n"


@pytest.mark.parametrize("host", [1, "all"])
def test_a_backend_without_a_log_of_each_host_says_so(record: JobRecord, host: Any) -> None:
    with pytest.raises(
        ConfigError, match=rf"the backend 'quiet' shows the log of host 0 only; leave out host={host!r}"
    ):
        handle(record, OneHost()).logs(host=host)
