"""Putting small files and a large one into an object store, and getting them on the pod: target 13."""

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from benchmarks.drive.plain_http import FOLDER
from benchmarks.records import Measured
from benchmarks.workshop import Workshop
from tests.fakes.servers.stores import CLOUDS, Cloud

PLAIN: Final = "plain HTTP client"
_SCHEMES: Final = ("gs", "s3")
_BUCKET: Final = "kinetic-benchmark"
_FILES: Final = 1_000
_SMALL_BYTES: Final = 4_096
_AT_ONCE: Final = 8
"""What the client's staging does side by side."""


def measure(shop: Workshop) -> Iterator[Measured]:
    """Yield four tables a store."""
    small, large = _small(shop.room("staging", "small")), _large(shop.room("staging", "large"), shop.object_bytes)
    for scheme in _SCHEMES:
        cloud = CLOUDS[scheme]
        with cloud.server(shop.room("staging", f"server-{scheme}")) as address:
            cloud.make_bucket(address, _BUCKET)
            yield from _measured(shop, cloud, address, small, f"{_FILES:,} files of {_SMALL_BYTES // 1024} KiB")
        # A server keeps what it ever got in memory: the next one begins with none.
        with cloud.server(shop.room("staging", f"server-{scheme}")) as address:
            cloud.make_bucket(address, _BUCKET)
            yield from _measured(shop, cloud, address, large, f"one file of {shop.object_bytes >> 20:,} MiB")


def _options(cloud: Cloud, address: str) -> str:
    """Return what the store's driver is told: to sign no bodies, as it does over https, where nobody can alter them."""
    unsigned = {"config_kwargs": {"s3": {"payload_signing_enabled": False}}} if cloud.scheme == "s3" else {}
    return json.dumps({cloud.scheme: cloud.options(address) | unsigned})


def _measured(shop: Workshop, cloud: Cloud, address: str, data: Path, what: str) -> Iterator[Measured]:
    options, key, at = _options(cloud, address), f"{cloud.scheme}-{data.name}", f"at {cloud.scheme}://"
    plain = partial(
        shop.ours, name=PLAIN, data=data, scheme=cloud.scheme, address=address, bucket=_BUCKET, at_once=_AT_ONCE
    )
    own = shop.ours("own_stores", "stage", data=data, url=f"{cloud.scheme}://{_BUCKET}/ours", options=options)
    # The server works for both, and is nobody's child.
    contestants = [attrs.evolve(one, detached=True) for one in (own, plain("plain_http", "put"))]
    yield shop.measure(f"staging:{key}", f"stage {what} {at}", contestants)
    # What the plain client put in its last round is still there.
    out = shop.room("staging", "fetched")
    url = f"{cloud.scheme}://{_BUCKET}/{FOLDER}/{'' if data.is_dir() else data.name}"
    own = shop.ours("own_stores", "fetch", out=out / "ours", url=url, options=options)
    contestants = [attrs.evolve(one, detached=True) for one in (own, plain("plain_http", "get", out=out / "plain"))]
    yield shop.measure(f"fetching:{key}", f"fetch {what} {at}, on the pod", contestants)


def _small(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(_FILES):
        path = folder / f"{number:04}"
        if not path.is_file():
            path.write_bytes(os.urandom(_SMALL_BYTES))
    return folder


def _large(path: Path, size_bytes: int) -> Path:
    if not path.is_file() or path.stat().st_size != size_bytes:
        with path.open("wb") as stream:
            for _ in range(size_bytes >> 20):
                stream.write(os.urandom(1 << 20))
    return path
