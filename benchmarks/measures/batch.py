"""What a batch of 1,000 inputs costs its client: target 14. The counts are in tests/system/batches/test_counts.py."""

from collections.abc import Iterator
from typing import Final

from benchmarks.records import Measured
from benchmarks.workshop import Workshop

_INPUTS: Final = 1_000


def measure(shop: Workshop) -> Iterator[Measured]:
    """Start a batch on a backend that takes arrays, and follow it to its end."""
    project, store = shop.room("batch", "project", "job.py").parent, shop.room("batch", "store")
    own = shop.ours("own_client", "batch", project=project, store=store.as_uri(), inputs=_INPUTS)
    yield shop.measure("batch", f"a batch of {_INPUTS:,} inputs, without what its jobs do", [own])
