"""This project's content hash of `Data`."""

from collections.abc import Mapping
from typing import Any

from benchmarks.drive.step import Step


def content_hash(config: Mapping[str, Any]) -> Step:
    """Hash a directory that was hashed before, as a later call of the same program does."""
    from kinetic_core.references.data import Data

    return Step(act=lambda: Data(config["tree"]).content_hash())
