"""Kinetic (`keras-kinetic` on the package index): its packager, its payload, its walk and its runner's extraction.

Each is called as `kinetic.backend.execution._prepare_artifacts` and `remote_runner.main` call it.
"""

import pickle
import shutil
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.drive import calls
from benchmarks.drive.step import Step


def cold(config: Mapping[str, Any]) -> Step:
    """Archive a tree and hash the archive; the folders that others leave out are excluded by path."""
    packager = import_module("kinetic.utils.packager")
    sha256 = import_module("kinetic.backend.execution")._file_sha256  # noqa: SLF001 - what its submission calls
    tree, out = config["tree"], Path(config["out"])
    excluded = {f"{tree}/{name}" for name in config["excluded"]}

    def act() -> None:
        packager.zip_working_dir(tree, str(out), excluded)
        sha256(str(out))

    return Step(before=lambda: out.unlink(missing_ok=True), act=act, facts=lambda: {"bytes": out.stat().st_size})


def write(config: Mapping[str, Any]) -> Step:
    """Write a payload with large arrays, and hash the file."""
    return _written(calls.arrays(config["size_bytes"], config["count"]), config)


def walk_and_write(config: Mapping[str, Any]) -> Step:
    """Look for `Data` in a million plain values, replace, and write."""
    packager = import_module("kinetic.utils.packager")
    arguments = (calls.nested(config["count"]),)
    step = _written(list(arguments), config)

    def act() -> None:
        packager.extract_data_refs(arguments, {})
        packager.replace_data_with_refs(arguments, {}, {})
        step.act()

    return Step(before=step.before, act=act)


def load(config: Mapping[str, Any]) -> Step:
    """Load a payload with large arrays."""
    cloudpickle = import_module("cloudpickle")
    payload = Path(config["payload"])
    if not payload.exists():
        with payload.open("wb") as sink:
            cloudpickle.dump(calls.arrays(config["size_bytes"], config["count"]), sink)
    loaded: list[Any] = []

    def act() -> None:
        with payload.open("rb") as stream:
            loaded.append(pickle.load(stream))

    return Step(before=loaded.clear, act=act)


def extract(config: Mapping[str, Any]) -> Step:
    """Extract a context as `remote_runner.main` does."""
    target = Path(config["target"])

    def before() -> None:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)

    def act() -> None:
        with zipfile.ZipFile(config["archive"], "r") as archive:
            archive.extractall(target)

    return Step(before=before, act=act)


def _written(arguments: list[Any], config: Mapping[str, Any]) -> Step:
    packager = import_module("kinetic.utils.packager")
    sha256 = import_module("kinetic.backend.execution")._file_sha256  # noqa: SLF001 - what its submission calls
    out = Path(config["out"])

    def act() -> None:
        packager.save_payload(calls.total, tuple(arguments), {}, {}, str(out), working_dir=str(out.parent))
        sha256(str(out))

    return Step(before=lambda: out.unlink(missing_ok=True), act=act, facts=lambda: {"bytes": out.stat().st_size})
