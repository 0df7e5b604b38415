"""Packaging what was packaged before: unchanged, target 3, and with one file edited, target 4."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.measures import field
from benchmarks.records import Measured
from benchmarks.workshop import Workshop

EDITED: Final = "kinetic-run, one file edited"
COLD: Final = "kinetic-run, cold"
_TREES: Final = ("src2k", "prune", "many", "big")
_EDITED_FILE: Final = "edited_by_the_benchmark.py"
_WITH_PEERS: Final = ("src2k", "prune")


def measure(shop: Workshop) -> Iterator[Measured]:
    """Yield one table a tree."""
    for name in _TREES:
        tree = shop.tree(name)
        contestants = [
            shop.ours("own_context", "warm", tree=tree, out=shop.room(f"warm-{name}", "context.zip")),
            shop.ours(
                *("own_context", "edited"),
                name=EDITED,
                tree=_copy(shop, name),
                edited=_EDITED_FILE,
                out=shop.room(f"edited-{name}", "context.zip"),
            ),
            shop.ours("own_context", "cold", name=COLD, tree=tree, out=shop.room(f"recold-{name}", "context.zip")),
            field.git_status(shop, name),
            field.stat_walk(shop, name),
        ]
        if name in _WITH_PEERS:
            contestants += [
                shop.peer(*("ray", "peer_ray", "again"), tree=tree, excluded=field.LEFT_OUT),
                shop.peer(*("modal", "peer_modal", "again"), tree=tree, excluded=field.LEFT_OUT),
            ]
        yield shop.measure(f"warm:{name}", f"`{name}` once more, unchanged", contestants, rehearsed=True)


def _copy(shop: Workshop, name: str) -> Path:
    """Return a copy to edit, so that the tree itself stays unchanged; without what is left out."""
    copy = shop.room(f"edited-{name}", "tree")
    if not copy.is_dir():
        shutil.copytree(shop.tree(name), copy, ignore=shutil.ignore_patterns(*field.LEFT_OUT))
    return copy
