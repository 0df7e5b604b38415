"""Lithops' module data, as `lithops.job.job` serialises it: sources only, in base 64, not compressed."""

import pickle
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.drive.step import Step


def cold(config: Mapping[str, Any]) -> Step:
    """Read all sources below the tree into one pickle, and write it."""
    create = import_module("lithops.job.serialize").create_module_data
    out = Path(config["out"])

    def act() -> None:
        out.write_bytes(pickle.dumps({"func": b"", "module_data": create([config["tree"]])}, -1))

    return Step(before=lambda: out.unlink(missing_ok=True), act=act, facts=lambda: {"bytes": out.stat().st_size})
