"""What excluded subtrees cost: target 5."""

from collections.abc import Iterator
from typing import Final

from benchmarks.measures import field
from benchmarks.records import Measured
from benchmarks.workshop import Workshop

BARE: Final = "without them"
BESIDE: Final = "with 50,000 excluded files beside"


def measure(shop: Workshop) -> Iterator[Measured]:
    """Package the same files with and without excluded ones beside them."""
    contestants = [
        shop.ours("own_context", "cold", name=name, tree=shop.tree(tree), out=field.room_of(shop, f"{tree}-pruning"))
        for name, tree in ((BESIDE, "prune"), (BARE, "prune-bare"))
    ]
    yield shop.measure("pruning", "what excluded subtrees cost", contestants)
