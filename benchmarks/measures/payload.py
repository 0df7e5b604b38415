"""A payload with a gibibyte of arrays: targets 6 and 7; and the search for a culprit: target 8."""

from collections.abc import Iterator
from typing import Any, Final

from benchmarks.records import Measured
from benchmarks.workshop import Workshop

WRITE_FLOOR: Final = "write the bytes and hash them"
READ_FLOOR: Final = "read the file"
ONE_PICKLE: Final = "one serialisation"
_ARRAYS: Final[dict[str, Any]] = {"size_bytes": 1 << 30, "count": 16}
_FEWER: Final[dict[str, Any]] = {"size_bytes": 256 << 20, "count": 16}


def measure(shop: Workshop) -> Iterator[Measured]:
    """Yield writing, loading and bisection."""
    out = shop.room("payload", "written.pkl")
    write = [
        shop.ours("own_call", "write", out=out, **_ARRAYS),
        shop.ours("floor", "write_and_hash", name=WRITE_FLOOR, out=shop.room("payload", "floor"), **_ARRAYS),
        shop.peer("keras-kinetic", "peer_kinetic", "write", out=shop.room("payload", "peer.pkl"), **_ARRAYS),
    ]
    yield shop.measure("payload-write", "write and hash a payload with 1 GiB of arrays", write)
    kept = shop.room("payload", "kept.pkl")
    load = [
        shop.ours("own_call", "load", payload=kept, **_ARRAYS),
        shop.ours("floor", "read_file", name=READ_FLOOR, payload=kept),
        shop.peer("keras-kinetic", "peer_kinetic", "load", payload=shop.room("payload", "peer-kept.pkl"), **_ARRAYS),
    ]
    yield shop.measure("payload-load", "load a payload with 1 GiB of arrays", load)
    explain = [
        shop.ours("own_call", "explain", out=out, **_FEWER),
        shop.ours("floor", "pickle_once", name=ONE_PICKLE, out=shop.room("payload", "floor"), **_FEWER),
    ]
    yield shop.measure("bisection", "name what cannot travel behind 256 MiB of arrays", explain)
    for path in (out.parent).iterdir():
        path.unlink()
