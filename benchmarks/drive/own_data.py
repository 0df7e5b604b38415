"""This project's content hash of `Data`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


def content_hash(config: Mapping[str, Any]) -> Step:
    """Hash a directory that an earlier submission hashed, as the next one does."""
    from kinetic.hashes import HashCache
    from kinetic_core.references.data import Data

    cache = HashCache(folder=Path(config["out"]))

    def hashed() -> None:
        Data(config["tree"]).hashed(lambda path: cache.hash_path(path, mode="on"))

    hashed()
    return Step(act=hashed)
