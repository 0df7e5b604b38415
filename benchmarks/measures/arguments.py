"""Looking for `Data` among a million plain values: target 9."""

from collections.abc import Iterator
from typing import Final

from benchmarks.records import Measured
from benchmarks.workshop import Workshop

PLAIN: Final = "pickling alone"
_COUNT: Final = 1_000_000


def measure(shop: Workshop) -> Iterator[Measured]:
    """Write a call with a million values, with and without looking."""
    contestants = [
        shop.ours("own_call", "seek_and_write", out=shop.room("arguments", "walked.pkl"), count=_COUNT),
        shop.ours("own_call", "write_nested", name=PLAIN, out=shop.room("arguments", "plain.pkl"), count=_COUNT),
        shop.peer(
            *("keras-kinetic", "peer_kinetic", "walk_and_write"),
            out=shop.room("arguments", "peer.pkl"),
            count=_COUNT,
        ),
    ]
    yield shop.measure("arguments", "10⁶ nested arguments without `Data`, looked through and pickled", contestants)
