"""Every measurement, by the name that the command line knows it by."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from benchmarks.measures import (
    arguments,
    batch,
    cold_archive,
    data_hash,
    extraction,
    growth,
    imports,
    payload,
    pruning,
    round_trip,
    staging,
    upload,
    warm_archive,
)
from benchmarks.records import Measured
from benchmarks.workshop import Workshop

MEASURES: Final[Mapping[str, Callable[[Workshop], Iterator[Measured]]]] = {
    "import": imports.measure,
    "cold": cold_archive.measure,
    "cold-large": cold_archive.measure_large,
    "warm": warm_archive.measure,
    "upload": upload.measure,
    "pruning": pruning.measure,
    "arguments": arguments.measure,
    "payload": payload.measure,
    "round-trip": round_trip.measure,
    "extract": extraction.measure,
    "data": data_hash.measure,
    "staging": staging.measure,
    "batch": batch.measure,
    "growth": growth.measure,
}
