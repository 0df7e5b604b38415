from collections.abc import Sequence

import pytest

from benchmarks.contestants import ContestantError, Round
from benchmarks.drive.machine import Reading
from benchmarks.sampling import Sample, interleaved

QUIET, BUSY = 0.0, 50.0


def taken(wall_s: float, foreign_s: float = QUIET, **facts: float) -> Round:
    return Round(reading=Reading(wall_s=wall_s, cpu_s=wall_s, foreign_s=foreign_s, peak_bytes=0), facts=facts)


class Scripted:
    """Answers with the given rounds in turn, the last one for ever; writes down that it was asked."""

    def __init__(self, name: str, rounds: Sequence[Round], diary: list[str]) -> None:
        self.name = name
        self._rounds = list(rounds)
        self._diary = diary

    def round(self) -> Round:
        self._diary.append(self.name)
        if not self._rounds:
            raise ContestantError("out of breath")
        return self._rounds.pop(0) if len(self._rounds) > 1 else self._rounds[0]

    def close(self) -> None:
        self._diary.append(f"{self.name} closed")


def test_contestants_take_turns_and_the_warm_up_does_not_count() -> None:
    diary: list[str] = []
    one, other = Scripted("one", [taken(9.0), taken(1.0)], diary), Scripted("other", [taken(2.0)], diary)
    samples = interleaved([one, other], rounds=2)
    assert diary == ["one", "other"] * 3 + ["one closed", "other closed"]
    assert [round_.reading.wall_s for round_ in samples["one"].rounds] == [1.0, 1.0]


def test_a_rehearsal_comes_before_each_round_and_does_not_count() -> None:
    diary: list[str] = []
    one = Scripted("one", [taken(9.0), taken(8.0), taken(7.0), taken(1.0)], diary)
    other = Scripted("other", [taken(5.0), taken(2.0)], diary)
    samples = interleaved([one, other], rounds=1, rehearsed=True)
    assert diary[:-2] == ["one", "one", "other", "other"] * 2
    assert [sample.wall_s for sample in samples.values()] == [1.0, 2.0]


def test_a_disturbed_round_is_done_again_by_that_contestant_alone() -> None:
    diary: list[str] = []
    rounds = [taken(1.0), taken(8.0, BUSY), taken(1.0), taken(1.0)]
    samples = interleaved([Scripted("one", rounds, diary), Scripted("other", [taken(2.0)], diary)], rounds=2)
    assert diary.count("one") == 4
    assert diary.count("other") == 3
    assert samples["one"].wall_s == 1.0


def test_patience_ends_where_others_stay_busy_and_the_fastest_round_stands_in() -> None:
    diary: list[str] = []
    rounds = [taken(3.0, BUSY), taken(4.0, BUSY), taken(2.0, BUSY), taken(5.0, BUSY)]
    sample = interleaved([Scripted("one", rounds, diary)], rounds=3, patience=2)["one"]
    assert diary.count("one") == 7
    assert sample.is_disturbed
    assert sample.wall_s == 2.0


def test_the_median_is_of_quiet_rounds_only() -> None:
    sample = Sample(rounds=(taken(1.0), taken(2.0), taken(3.0), taken(99.0, BUSY), taken(99.0, BUSY)))
    assert not sample.is_disturbed
    assert sample.wall_s == 2.0


def test_one_that_fails_keeps_its_reason_and_stops_nobody() -> None:
    diary: list[str] = []
    samples = interleaved([Scripted("lame", [], diary), Scripted("fit", [taken(1.0)], diary)], rounds=2)
    assert samples["lame"].reason == "out of breath"
    assert len(samples["fit"].rounds) == 2
    assert diary.count("lame") == 1


def test_counts_are_medians_too() -> None:
    sample = Sample(rounds=(taken(1.0, size=1.0), taken(1.0, size=5.0), taken(1.0, size=3.0)))
    assert sample.facts == {"size": 3.0}


def test_the_spread_is_that_of_the_quartiles() -> None:
    assert Sample(rounds=tuple(taken(wall) for wall in (1.0, 2.0, 3.0))).spread == pytest.approx(1.0)
    assert Sample(rounds=(taken(1.0),)).spread == 0.0
