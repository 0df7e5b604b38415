"""Modal's mount: every file hashed, and the server asked which it lacks."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, Final

from benchmarks.drive.step import Step

_CONCURRENT: Final = 64


class _Answer:
    """What the server says when it has them all."""

    missing_sha256_hex_hashes = ()

    def HasField(self, _: str) -> bool:  # noqa: N802 - as messages have it
        return False


class _Stub:
    async def MountBatchedCheckExistence(self, *_: Any, **__: Any) -> _Answer:  # noqa: N802 - the service's name
        return _Answer()


class _Client:
    _stub = _Stub()
    stub = _stub


def again(config: Mapping[str, Any]) -> Step:
    """Find out that a tree was uploaded before; the first time differs by the upload alone."""
    mount = import_module("modal.mount")
    left_out = import_module("modal.file_pattern_matcher").FilePatternMatcher(*config["excluded"])
    size = [0]

    async def ask() -> None:
        entry = mount._MountDir(Path(config["tree"]), PurePosixPath("/root"), left_out, True)  # noqa: FBT003, SLF001
        hashed = mount._Mount._batched_get_missing_files(  # noqa: SLF001 - what `_load_mount` iterates over
            [entry], _Client(), n_concurrent_checksums=_CONCURRENT, batch_size=_CONCURRENT
        )
        async for spec in hashed:
            size[0] += spec.size

    def act() -> None:
        size[0] = 0
        asyncio.run(ask())

    return Step(act=act, facts=lambda: {"bytes": size[0]} if size[0] else {})
