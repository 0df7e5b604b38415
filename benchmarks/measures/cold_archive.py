"""Packaging a tree of which nothing is known: targets 1 and 2, each by itself."""

from collections.abc import Iterator
from typing import Final

from benchmarks.measures import field
from benchmarks.records import Measured
from benchmarks.workshop import Workshop

# On the larger trees the slowest peers would take most of an hour for nothing new.
_ALL_PEERS: Final = ("src2k", "prune")
_ALSO: Final = ("deep", "many")
_SELECTED: Final = ("keras-kinetic", "ray", "metaflow")
_LARGE: Final = "big"
# Who deflates a gigabyte on one core takes half a minute; with all of them, the system forgets the files meanwhile.
_OF_THE_LARGE: Final = ("keras-kinetic", "ray")


def measure(shop: Workshop) -> Iterator[Measured]:
    """Yield one table a tree of many files: target 1."""
    for name in (*_ALL_PEERS, *_ALSO):
        ours = shop.ours("own_context", "cold", tree=shop.tree(name), out=field.room_of(shop, name))
        peers = field.packers(shop, name, only=None if name in _ALL_PEERS else _SELECTED)
        yield shop.measure(f"cold:{name}", f"cold archive of `{name}`", [ours, *peers, *field.archivers(shop, name)])


def measure_large(shop: Workshop) -> Iterator[Measured]:
    """Yield the table of a gigabyte in few files: target 2."""
    ours = shop.ours("own_context", "cold", tree=shop.tree(_LARGE), out=field.room_of(shop, _LARGE))
    peers = field.packers(shop, _LARGE, only=_OF_THE_LARGE)
    tarred = [one for one in field.archivers(shop, _LARGE) if one.name == field.TAR_ZSTD]
    yield shop.measure(f"cold:{_LARGE}", f"cold archive of `{_LARGE}`", [ours, *peers, *tarred])
