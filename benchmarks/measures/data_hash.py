"""The content hash of `Data` that did not change: target 15."""

from collections.abc import Iterator
from typing import Final

from benchmarks.records import Measured
from benchmarks.workshop import Workshop

STAT_WALK: Final = "stat walk"


def measure(shop: Workshop) -> Iterator[Measured]:
    """Hash 100,000 files again."""
    tree = shop.tree("many")
    contestants = [
        shop.ours("own_data", "content_hash", tree=tree, out=shop.room("hashes", "kept")),
        shop.ours("floor", "stat_walk", name=STAT_WALK, tree=tree),
    ]
    yield shop.measure("data-hash", "hash 100,000 `Data` files that did not change", contestants, rehearsed=True)
