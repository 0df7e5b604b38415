"""Lower bounds: what the machine itself takes for the same work, with nothing of ours."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.drive import calls
from benchmarks.drive.step import Step


def write_and_hash(config: Mapping[str, Any]) -> Step:
    """Write the bytes of arrays into a file, and hash them."""
    arrays = calls.arrays(config["size_bytes"], config["count"])
    out = Path(config["out"])

    def act() -> None:
        digest = hashlib.sha256()
        with out.open("wb", buffering=0) as stream:
            for array in arrays:
                digest.update(array)
                stream.write(array)
        digest.hexdigest()

    return Step(before=lambda: out.unlink(missing_ok=True), act=act, facts=lambda: {"bytes": out.stat().st_size})


def read_file(config: Mapping[str, Any]) -> Step:
    """Read a file into buffers of 64 MiB."""
    path = Path(config["payload"])
    read: list[bytes] = []

    def act() -> None:
        with path.open("rb", buffering=0) as stream:
            while chunk := stream.read(64 << 20):
                read.append(chunk)

    return Step(before=read.clear, act=act)


def pickle_once(config: Mapping[str, Any]) -> Step:
    """Serialise arrays once with cloudpickle, into a file."""
    import cloudpickle

    arrays = calls.arrays(config["size_bytes"], config["count"])
    out = Path(config["out"])

    def act() -> None:
        with out.open("wb") as stream:
            cloudpickle.dump((calls.total, arrays), stream, protocol=5)

    return Step(before=lambda: out.unlink(missing_ok=True), act=act)


def stat_walk(config: Mapping[str, Any]) -> Step:
    """List a tree, with the status of each file, and keep nothing: no Python that looks at every file is faster."""
    left_out = frozenset(config.get("left_out", ()))

    def act() -> None:
        waiting = [str(config["tree"])]
        while waiting:
            path = waiting.pop()
            directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            with os.scandir(directory) as listing:
                for entry in listing:
                    if not entry.is_dir(follow_symlinks=False):
                        entry.stat(follow_symlinks=False)
                    elif entry.name not in left_out:
                        waiting.append(f"{path}/{entry.name}")
            os.close(directory)

    return Step(act=act)
