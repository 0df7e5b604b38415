"""What no other process disturbs: calls of the system, bytes, modules, requests. No clock in here."""

import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.drive import calls
from benchmarks.trees import growth, tree
from kinetic.submission.stage import Staging, stage_package
from kinetic_core.model.package import Artifact, Manifest, Package, PackageRoot
from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.call import Call
from kinetic_core.packaging.pickling import write_payload
from kinetic_core.packaging.rules import RuleSet, builtin_rules
from kinetic_core.packaging.scan import scan
from kinetic_core.wire.plan import Plan

RULES = RuleSet.compile(builtin_rules({}))
MIB = 1 << 20


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tree(tmp_path_factory.mktemp("trees"), growth(300))


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what was listed, as it is listed."""
    seen: list[Any] = []
    original = os.scandir

    def counting(path: Any = ".") -> Any:
        seen.append(path)
        return original(path)

    monkeypatch.setattr(os, "scandir", counting)
    return seen


def test_a_scan_lists_each_directory_once_and_nothing_below_an_excluded_one(project: Path, listed: list[Any]) -> None:
    for name in (".git", "node_modules", "part/.venv"):
        for number in range(20):
            project.joinpath(name, f"inner_{number}", "deeper").mkdir(parents=True, exist_ok=True)
    directories = {path.parent for path in project.rglob("*.py")} | {project / "part"}
    above = {outer for inner in directories for outer in inner.parents if project in outer.parents}
    listed.clear()
    found = scan(project, RULES)
    assert found.file_count == 300
    assert len(listed) == len(directories | above | {project})


def test_an_archive_is_at_most_an_eighth_larger_than_zlibs_usual_one(project: Path, tmp_path: Path) -> None:
    written = write_archive(scan(project, RULES), Plan(package_root="/p"), tmp_path / "context.zip")
    with (
        zipfile.ZipFile(tmp_path / "context.zip") as ours,
        zipfile.ZipFile(tmp_path / "best.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=6) as best,
    ):
        for name in ours.namelist():
            best.writestr(name, ours.read(name))
    assert written.artifact.size_bytes <= 1.12 * tmp_path.joinpath("best.zip").stat().st_size


def test_what_does_not_compress_is_stored_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    root.joinpath("weights.bin").write_bytes(os.urandom(4 * MIB))
    written = write_archive(scan(root, RULES), Plan(package_root="/p"), tmp_path / "context.zip")
    assert 4 * MIB < written.artifact.size_bytes < 4 * MIB + 4096


def test_writing_an_archive_holds_no_file_whole(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    with root.joinpath("table.csv").open("wb") as stream:
        for number in range(64):
            stream.write(f"{number},".encode() * (MIB // 3))
    found = scan(root, RULES)
    assert peak_of(lambda: write_archive(found, Plan(package_root="/p"), tmp_path / "context.zip")) < 16 * MIB


def test_writing_a_payload_makes_no_copy_of_its_arrays(tmp_path: Path) -> None:
    arrays = calls.arrays(64 * MIB, 4)
    call = Call(
        function=calls.total,
        args=tuple(arrays),
        working_dir="/p",
        plan=Plan(package_root="/p"),
        kinetic_version="0",
    )
    assert peak_of(lambda: write_payload(call, tmp_path / "payload.pkl", first_party={})) < 8 * MIB
    assert 64 * MIB < tmp_path.joinpath("payload.pkl").stat().st_size < 65 * MIB


def peak_of(act: Any) -> int:
    """Return the most memory that Python's allocators held more than before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        act()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded in the end, above those of a bare one."""
    program = "import atexit, json, sys; bare = set(sys.modules)\n" + "\n".join(arguments)
    told = program + "\nprint(json.dumps(sorted(set(sys.modules) - bare)))"
    answered = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(json.loads(answered.stdout))


def test_import_kinetic_loads_at_most_a_handful_of_modules() -> None:
    assert len(loaded_by("import kinetic") - loaded_by("import importlib, typing")) <= 2


def test_the_runner_starts_without_anything_heavy() -> None:
    loaded = {name.partition(".")[0] for name in loaded_by("import kinetic_runner.runner")}
    assert loaded.isdisjoint({"argparse", "asyncio", "attr", "fsspec", "numpy", "pluggy", "structlog", "zipfile"})


class CountingStorage:
    """Counts what is put; holds nothing."""

    url = "count://"

    def __init__(self) -> None:
        self.put: list[tuple[str, int]] = []

    def put_file(self, path: Path, key: str) -> None:
        self.put.append((key, path.stat().st_size))

    def put_bytes(self, data: bytes, key: str) -> None:
        self.put.append((key, len(data)))

    def put_if_absent(self, data: bytes, key: str) -> bool:
        self.put_bytes(data, key)
        return True

    def get_file(self, key: str, path: Path) -> None:
        raise NotImplementedError

    def get_bytes(self, key: str) -> bytes:
        raise NotImplementedError

    def exists(self, key: str) -> bool:
        raise NotImplementedError

    def list(self, prefix: str = "") -> Iterator[Any]:
        raise NotImplementedError

    def delete_prefix(self, prefix: str) -> None:
        raise NotImplementedError

    def url_of(self, key: str) -> str:
        return f"{self.url}{key}"


def test_staging_stores_each_artifact_with_one_request(tmp_path: Path) -> None:
    artifacts = []
    for name, size in (("context.zip", 1000), ("payload.pkl", 200)):
        path = tmp_path / name
        path.write_bytes(b"x" * size)
        artifacts.append(Artifact(path=path, size_bytes=size, sha256="0" * 64))
    package = Package(
        root=PackageRoot(path=tmp_path, step="entry", reason="", trail=(), entry=tmp_path),
        plan={},
        context=artifacts[0],
        payload=artifacts[1],
        manifest=Manifest(entries=()),
    )
    storage = CountingStorage()
    stage_package(Staging(storage, "job-1"), package)
    assert storage.put == [("job-1/context.zip", 1000), ("job-1/payload.pkl", 200)]
