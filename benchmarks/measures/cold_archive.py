"""Packaging a tree of which nothing is known: targets 1 and 2."""

from collections.abc import Iterator
from typing import Final

from benchmarks.measures import field
from benchmarks.records import Measured
from benchmarks.workshop import Workshop

# On the larger trees the slowest peers would take most of an hour for nothing new.
_ALL_PEERS: Final = ("src2k", "prune")
_ALSO: Final = ("deep", "many", "big")
_SELECTED: Final = ("keras-kinetic", "ray", "metaflow")


def measure(shop: Workshop) -> Iterator[Measured]:
    """Yield one table a tree."""
    for name in (*_ALL_PEERS, *_ALSO):
        ours = shop.ours("own_context", "cold", tree=shop.tree(name), out=field.room_of(shop, name))
        peers = field.packers(shop, name, only=None if name in _ALL_PEERS else _SELECTED)
        yield shop.measure(f"cold:{name}", f"cold archive of `{name}`", [ours, *peers, *field.archivers(shop, name)])
