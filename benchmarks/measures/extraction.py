"""The runner's extraction of a context: target 12."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.records import Measured
from benchmarks.workshop import Workshop

_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - where the disk has no part in it


def measure(shop: Workshop) -> Iterator[Measured]:
    """Extract the 20,000 files of `prune`, into memory where there is such a place."""
    archive = shop.room("extraction", "context.zip")
    packer = shop.ours("own_context", "cold", tree=shop.tree("prune"), out=archive)
    packer.round()
    packer.close()
    place = (_MEMORY if _MEMORY.is_dir() else shop.room("extraction")) / "kinetic-bench"
    contestants = [
        shop.ours("own_context", "extract", archive=archive, target=place / "ours"),
        shop.peer("keras-kinetic", "peer_kinetic", "extract", archive=archive, target=place / "kinetic"),
    ]
    try:
        yield shop.measure("extract:prune", "extraction of `prune`'s context", contestants)
    finally:
        shutil.rmtree(place, ignore_errors=True)
