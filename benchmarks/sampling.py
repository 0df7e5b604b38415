"""Rounds in turn, and what is made of them."""

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from benchmarks.contestants import Contestant, ContestantError, Round

_QUIET_SHARE: Final = 0.08
# The system counts processor time in hundredths of a second.
_QUIET_SLACK_S: Final = 0.015
_ENOUGH: Final = 3
_BREATH_S: Final = 0.1
"""For what is made ready after a round, such as the processes of the next one."""


@attrs.frozen(kw_only=True)
class Sample:
    """The rounds of one contestant."""

    rounds: tuple[Round, ...] = ()
    reason: str | None = None
    """Why there are none."""

    @property
    def quiet(self) -> tuple[Round, ...]:
        """Those that had the processors for themselves."""
        return tuple(taken for taken in self.rounds if _is_quiet(taken))

    @property
    def is_disturbed(self) -> bool:
        """Tell whether other processes were busy in nearly every round."""
        return len(self.quiet) < min(_ENOUGH, len(self.rounds))

    @property
    def wall_s(self) -> float:
        """Return the median of the quiet rounds; of a disturbed sample the fastest: what others do only adds."""
        if self.is_disturbed:
            return min(taken.reading.wall_s for taken in self.rounds)
        return statistics.median(taken.reading.wall_s for taken in self.quiet)

    @property
    def cpu_s(self) -> float:
        """Return the median processor time."""
        return statistics.median(taken.reading.cpu_s for taken in self.rounds)

    @property
    def peak_bytes(self) -> float:
        """Return the median of how far memory rose."""
        return statistics.median(taken.reading.peak_bytes for taken in self.rounds)

    @property
    def spread(self) -> float:
        """Return the distance of the quartiles as a share of the median, over all rounds."""
        walls = [taken.reading.wall_s for taken in self.rounds]
        if len(walls) < _ENOUGH:
            return 0.0
        low, middle, high = statistics.quantiles(walls, n=4)
        return (high - low) / middle

    @property
    def facts(self) -> Mapping[str, float]:
        """Return each count and size, its median."""
        keys = dict.fromkeys(key for taken in self.rounds for key in taken.facts)
        return {key: statistics.median(taken.facts[key] for taken in self.rounds if key in taken.facts) for key in keys}


def interleaved(
    contestants: Sequence[Contestant], *, rounds: int, warmups: int = 1, patience: int = 3, rehearsed: bool = False
) -> dict[str, Sample]:
    """Let each do a round in turn, so that whatever the machine does meets them all alike.

    A disturbed round is done again, until a contestant has enough quiet ones or `patience` times as many rounds.

    Args:
        contestants: Names are distinct.
        rounds: Quiet ones wanted of each.
        warmups: Rounds that do not count.
        patience: How many times `rounds` at most.
        rehearsed: Each does a round that does not count right before each of its own. Memory that lay idle while the
            others had their turns is slow to touch, on virtual machines by several times; where rounds are short,
            that would be all there is to see.
    """
    taken: dict[str, list[Round]] = {contestant.name: [] for contestant in contestants}
    reasons: dict[str, str] = {}
    try:
        for turn in range(warmups + rounds * patience):
            for contestant in contestants:
                name = contestant.name
                if name in reasons or (turn >= warmups + rounds and _has_enough(taken[name], rounds)):
                    continue
                try:
                    if rehearsed:
                        contestant.round()
                        time.sleep(_BREATH_S)
                    done = contestant.round()
                except ContestantError as error:
                    reasons[name] = str(error)
                    continue
                if turn >= warmups:
                    taken[name].append(done)
    finally:
        for contestant in contestants:
            contestant.close()
    return {
        name: Sample(reason=reasons[name]) if name in reasons else Sample(rounds=tuple(done))
        for name, done in taken.items()
    }


def _has_enough(taken: Sequence[Round], wanted: int) -> bool:
    return sum(map(_is_quiet, taken)) >= wanted


def _is_quiet(taken: Round) -> bool:
    return taken.reading.foreign_s <= _QUIET_SHARE * taken.reading.wall_s + _QUIET_SLACK_S
