"""What a failed job said last: of each host that failed, in time, and never a wall."""

import threading
from collections.abc import Iterator

import attrs

from kinetic.jobs.lastwords import last_words
from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobRef, JobState, JobStatus
from tests.fakes.quiet_backend import QuietBackend

REF = JobRef(backend="quiet", job_id="job-0a1b2c3d")
ONE = JobState(status=JobStatus.FAILED, reason="died")
TWO = attrs.evolve(ONE, failed_host=1, also_failed=(4,))


@attrs.define
class Hosts(QuietBackend):
    """Each host has written so many lines; the log of some never comes, that of others cannot be had."""

    lines: int = 2
    stalls: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    asked: list[int | None] = attrs.field(factory=list)

    def host_logs(
        self, ref: JobRef, *, host: int | None = None, follow: bool = False, tail: int | None = None
    ) -> Iterator[str]:
        self.asked.append(host)
        if host in self.refused:
            raise ConfigError("forbidden")
        count = self.lines if tail is None else min(self.lines, tail)
        yield from (f"line {self.lines - count + number}\n" for number in range(count))
        if host in self.stalls:
            threading.Event().wait()


def test_one_pod_is_told_as_it_wrote() -> None:
    assert last_words(REF, ONE, QuietBackend(ONE, log="a\nb")) == "a\nb\n"
    assert last_words(REF, ONE, QuietBackend(ONE)) == ""


def test_the_only_host_that_failed_is_told_as_it_wrote() -> None:
    assert last_words(REF, attrs.evolve(TWO, also_failed=()), Hosts(TWO)) == "line 0\nline 1\n"


def test_each_host_that_failed_is_told_behind_its_number() -> None:
    told = "[host 1] line 0\n[host 1] line 1\n[host 4] line 0\n[host 4] line 1\n"
    assert last_words(REF, TWO, Hosts(TWO)) == told


def test_of_many_hosts_the_first_ten_are_told_with_thirty_lines_each_and_how_to_see_the_others() -> None:
    state = attrs.evolve(ONE, failed_host=0, also_failed=tuple(range(1, 64)))
    backend = Hosts(state, lines=1000)
    *lines, rest = last_words(REF, state, backend).splitlines()
    assert [f"[host {host}] line {number}" for host in range(10) for number in range(970, 1000)] == lines
    assert rest == "54 more hosts failed, of which logs(host=10) and so on show what they said"
    assert sorted(filter(None, backend.asked)) == list(range(1, 10))


def test_of_many_attempts_the_last_ones_are_told() -> None:
    log = "".join(f"==> attempt-{attempt} <==\n" + "working\n" * 30 for attempt in range(20))
    told = last_words(REF, ONE, _Attempts(ONE, log=log)).splitlines()
    assert told[0] == "(320 lines before are left out)"
    assert len(told) == 301
    assert told[-31:] == ["==> attempt-19 <==", *["working"] * 30]


class _Attempts(QuietBackend):
    def logs(self, ref: JobRef, *, follow: bool = False, tail: int | None = None) -> Iterator[str]:
        # As many lines of each attempt.
        return iter([self.log])


def test_a_host_whose_log_does_not_come_keeps_nobody_waiting() -> None:
    told = last_words(REF, TWO, Hosts(TWO, stalls=frozenset({1})), wait_s=0.2).splitlines()
    assert told[:3] == [
        "[host 1] line 0",
        "[host 1] line 1",
        "[host 1] (the rest of its log did not come in 0.2 s)",
    ]
    assert told[3:] == ["[host 4] line 0", "[host 4] line 1"]


def test_a_log_that_cannot_be_read_hides_neither_the_others_nor_how_the_job_ended() -> None:
    told = last_words(REF, TWO, Hosts(TWO, refused=frozenset({4})))
    assert told.endswith("[host 1] line 1\n[host 4] (its log cannot be read: forbidden)\n")


def test_a_host_without_a_log_says_so() -> None:
    told = last_words(REF, TWO, Hosts(TWO, lines=0))
    assert told == "[host 1] (there is no log of it)\n[host 4] (there is no log of it)\n"
