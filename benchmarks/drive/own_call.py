"""This project's way with a call: writing, explaining and loading its payload."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.drive import calls
from benchmarks.drive.step import Step


def write(config: Mapping[str, Any]) -> Step:
    """Write a payload with large arrays, hashed on the way."""
    return _written(calls.arrays(config["size_bytes"], config["count"]), config)


def explain(config: Mapping[str, Any]) -> Step:
    """Find out what in a call cannot travel."""
    from kinetic_core.errors import SerializationError

    step = _written(calls.unpicklable(config["size_bytes"], config["count"]), config)

    def act() -> None:
        with suppress(SerializationError):
            step.act()
            raise RuntimeError("what cannot travel did")

    return Step(before=step.before, act=act)


def seek_and_write(config: Mapping[str, Any]) -> Step:
    """Look for `Data` in a million plain values, and write them, as a submission does."""
    from kinetic_core.references.data import Data

    return _written([calls.nested(config["count"])], config, references=(Data,))


def write_nested(config: Mapping[str, Any]) -> Step:
    """Write a million plain values, looking for nothing."""
    return _written([calls.nested(config["count"])], config)


def load(config: Mapping[str, Any]) -> Step:
    """Load a payload with large arrays, as the runner does."""
    from kinetic_runner.filenames import FileNames
    from kinetic_runner.loading import load_pickle

    payload = Path(config["payload"])
    if not payload.exists():
        write({**config, "out": str(payload)}).act()
    names = FileNames(package_root="", workspace=payload.parent)
    loaded: list[Any] = []
    return Step(before=loaded.clear, act=lambda: loaded.append(load_pickle(payload, names)))


def _written(arguments: list[Any], config: Mapping[str, Any], *, references: tuple[type, ...] = ()) -> Step:
    from kinetic_core.packaging.call import Call
    from kinetic_core.packaging.pickling import write_payload
    from kinetic_core.wire.plan import Plan

    out = Path(config["out"])
    call = Call(
        function=calls.total,
        args=tuple(arguments),
        working_dir=str(out.parent),
        plan=Plan(package_root=str(out.parent)),
        kinetic_version="0",
    )
    return Step(
        before=lambda: out.unlink(missing_ok=True),
        act=lambda: write_payload(call, out, first_party={}, references=references),
        facts=lambda: {"bytes": out.stat().st_size},
    )
