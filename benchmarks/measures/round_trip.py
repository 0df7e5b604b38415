"""A trivial function through the local backend and back: target 11."""

import shutil
import sys
from collections.abc import Iterator
from typing import Final

import attrs

from benchmarks.contestants import Command, Contestant, Worker
from benchmarks.records import Measured
from benchmarks.workshop import Workshop

BARE: Final = "python -c 'import cloudpickle'"


def measure(shop: Workshop) -> Iterator[Measured]:
    """Yield the first call of a process, and later ones."""
    cold = [_fresh(contestant) for contestant in _contestants(shop, "cold")]
    bare = Command(name=BARE, pipeline=[[sys.executable, "-c", "import cloudpickle"]], cwd=shop.folder)
    yield shop.measure("round-trip-cold", "local round trip of `f(1)`, first call of a process", [*cold, bare])
    yield shop.measure(
        "round-trip-warm",
        "local round trip of `f(1)`, later calls",
        _contestants(shop, "warm"),
        rounds=15,
        rehearsed=True,
    )


def _contestants(shop: Workshop, kind: str) -> list[Contestant]:
    project, store = shop.room(f"round-trip-{kind}", "project", "job.py").parent, shop.room(f"round-trip-{kind}", "s")
    shutil.rmtree(store, ignore_errors=True)
    found: list[Contestant] = [
        shop.ours("own_client", "round_trip", project=project, store=store.as_uri()),
        shop.peer("submitit", "peer_pools", "submitit", store=shop.room(f"round-trip-{kind}", "submitit")),
        shop.peer("ray", "peer_ray", "round_trip"),
        shop.peer("loky", "peer_pools", "loky"),
    ]
    # All of them leave the work to processes that are nobody's children.
    return [attrs.evolve(one, detached=True) if isinstance(one, Worker) else one for one in found]


def _fresh(contestant: Contestant) -> Contestant:
    return attrs.evolve(contestant, fresh=True) if isinstance(contestant, Worker) else contestant
