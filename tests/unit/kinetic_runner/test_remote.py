"""Remote stores: artifacts, data, and volumes."""

import os
import pickle
import sys
from pathlib import Path
from typing import Any, Self

import pytest

from kinetic_runner.drivers import open_url
from kinetic_runner.fetch import download, fetch
from kinetic_runner.resolve import DataPlaces, Resolver
from kinetic_runner.runner import run
from tests.system.runner.artifacts import Bench
from tests.unit.kinetic_runner.inprocess import reference
from tests.unit.kinetic_runner.journal import Journal

pytestmark = pytest.mark.usefixtures("own_process")


def test_everything_on_a_remote_store(bench: Bench, journal: Journal, memory: Any) -> None:
    bench.define(
        "import os, pathlib\n"
        "def f(tree, file, nothing):\n"
        "    return sorted(os.listdir(tree)), pathlib.Path(file).read_text(), nothing\n"
    )
    for name in ("cache/0a/a.txt", "cache/0a/deep/b.txt", "one.txt"):
        memory.pipe_file(f"/{name}", name.encode())
    reference = {"__data_ref__": True, "mount_path": None, "fuse": False, "is_dir": True}
    bench.payload["args"] = (
        {**reference, "uri": "memory://cache/0a/", "empty_dirs": ["hollow"]},
        {**reference, "uri": "memory://one.txt", "is_dir": False},
        None,
    )
    arguments = bench.write()
    for name in ("context.zip", "payload.pkl"):
        memory.pipe_file(f"/job/{name}", bench.folder.joinpath(name).read_bytes())
    arguments = [word.replace(f"file://{bench.folder}", "memory://job") for word in arguments]
    assert run(arguments, environ=os.environ, log=journal) == 0
    record = pickle.loads(memory.cat_file("/job/result.pkl"))
    assert record["result"] == (["a.txt", "deep", "hollow"], "one.txt", None)
    assert sorted(memory.find("/job")) == ["/job/context.zip", "/job/payload.pkl", "/job/result.pkl"]


@pytest.mark.parametrize("is_there", [True, False])
def test_another_attempt_takes_back_what_the_one_before_recorded_remotely(
    bench: Bench, journal: Journal, memory: Any, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setenv("TPU_WORKER_ID", "1")
    monkeypatch.setenv("KINETIC_ATTEMPT", "2")
    bench.define("def f(): return 1\n")
    record = "/job/result-worker-1.pkl"
    if is_there:
        memory.pipe_file(record, b"of an earlier attempt")
    arguments = [word.replace(f"file://{bench.folder}/result", "memory://job/result") for word in bench.write()]
    assert run(arguments, environ=os.environ, log=journal) == 0
    assert not memory.exists(record)


def test_one_object_is_downloaded_and_hashed_on_the_way(memory: Any, tmp_path: Path, journal: Journal) -> None:
    memory.pipe_file("/a/b.bin", b"abc")
    fetched = fetch("memory://a/b.bin", tmp_path, log=journal, hashed=True)
    assert fetched.path.read_bytes() == b"abc"
    assert fetched.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


class Breaking:
    """A stream that ends in an error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def read(self, _: int) -> bytes:
        raise ConnectionResetError


def test_an_unfinished_download_is_removed(memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe_file("/a", b"abc")
    system, _ = open_url("memory://a")
    monkeypatch.setattr(type(system), "open", lambda *_: Breaking())
    with pytest.raises(ConnectionResetError):
        download("memory://a", tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("uri", "hint"), [("gs://b/x", r"kinetic-run\[gcs\]"), ("sftp://h/x", "fsspec and its driver for it")]
)
def test_a_missing_driver_says_what_to_install(uri: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gcsfs", "gcsfs.core", "paramiko"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"{uri.partition(':')[0]}:// needs a driver .* install {hint}"):
        open_url(uri)


def test_an_absent_local_artifact_is_told_at_once(tmp_path: Path, journal: Journal) -> None:
    with pytest.raises(FileNotFoundError):
        fetch(f"file://{tmp_path}/gone", tmp_path, log=journal, hashed=False)
    assert journal.warnings == []


@pytest.fixture
def resolver(tmp_path: Path, journal: Journal) -> Resolver:
    """Return a resolver that takes every reference for real."""
    return Resolver(DataPlaces(directory=tmp_path / "data", mount_root=str(tmp_path / "mounts")), None, journal)


def test_a_directory_that_turns_out_to_be_a_file_is_a_file(memory: Any, resolver: Resolver) -> None:
    memory.pipe_file("/x/one.bin", b"1")
    (path,) = resolver.resolve([reference("memory://x/one.bin", is_dir=True)], {}).args
    assert Path(path).read_bytes() == b"1"
    assert Path(path).name == "one.bin"


def test_a_file_that_turns_out_to_be_a_directory_is_a_directory(memory: Any, resolver: Resolver) -> None:
    memory.pipe_file("/x/y/one.bin", b"1")
    (path,) = resolver.resolve([reference("memory://x/y")], {}).args
    assert Path(path, "one.bin").read_bytes() == b"1"


def test_an_object_whose_name_climbs_is_refused(memory: Any, resolver: Resolver, tmp_path: Path) -> None:
    memory.store["/x/../../evil"] = memory.store.get("/x") or _memory_file(memory)
    with pytest.raises(ValueError, match="leads out of its directory"):
        resolver.resolve([reference("memory://x/", is_dir=True)], {})
    assert not list(tmp_path.rglob("evil"))


def _memory_file(memory: Any) -> Any:
    memory.pipe_file("/other", b"evil")
    return memory.store["/other"]


@pytest.mark.parametrize("name", ["/abs", "../up", "a/../../b"])
def test_an_empty_directory_whose_name_climbs_is_refused(resolver: Resolver, tmp_path: Path, name: str) -> None:
    tmp_path.joinpath("tree").mkdir()
    with pytest.raises(ValueError, match="leads out of its directory"):
        resolver.resolve([reference(f"file://{tmp_path}/tree", is_dir=True, empty_dirs=[name])], {})


@pytest.mark.parametrize("base", ["file://{}/gone/", "memory://gone/"])
def test_a_directory_of_empty_directories_needs_nothing_in_the_store(
    memory: Any, resolver: Resolver, tmp_path: Path, base: str
) -> None:
    (path,) = resolver.resolve([reference(base.format(tmp_path), is_dir=True, empty_dirs=["a/b"])], {}).args
    assert Path(path, "a/b").is_dir()


def test_volumes_lie_at_their_mount_paths(resolver: Resolver, tmp_path: Path) -> None:
    tmp_path.joinpath("tree").mkdir()
    tmp_path.joinpath("tree/a").touch()
    uri = f"file://{tmp_path}/tree"
    resolver.mount(
        [
            reference(uri, is_dir=True, mount_path="/data"),
            reference(f"{uri}/a", mount_path="/one"),
            reference(uri, is_dir=True, mount_path="/fused", fuse=True),
            reference(f"{uri}/a", mount_path="/fused-file", fuse=True),
        ]
    )
    mounts = tmp_path / "mounts"
    assert mounts.joinpath("data/a").is_file()
    assert mounts.joinpath("one").is_file()
    assert mounts.joinpath("fused").stat().st_mode & 0o777 == 0o555
    assert mounts.joinpath("fused/a").stat().st_mode & 0o777 == 0o444
    assert mounts.joinpath("fused-file").stat().st_mode & 0o777 == 0o444
    mounts.joinpath("fused").chmod(0o755)


def test_an_argument_that_cannot_be_mounted_is_a_read_only_copy_and_says_so(
    resolver: Resolver, tmp_path: Path, journal: Journal
) -> None:
    tmp_path.joinpath("tree").mkdir()
    tmp_path.joinpath("tree/a").touch()
    uri = f"file://{tmp_path}/tree"
    fused, plain = reference(uri, is_dir=True, fuse=True), reference(f"{uri}/a")
    copy, file = map(Path, resolver.resolve([fused, plain], {}).args)
    assert [path.stat().st_mode & 0o222 for path in (copy, copy / "a")] == [0, 0]
    assert file.stat().st_mode & 0o200
    assert journal.text_of_all == f"kinetic: {uri} is a read-only copy here: only volumes are mounted\n"
    copy.chmod(0o755)


def test_what_the_backend_mounted_is_not_downloaded(tmp_path: Path, journal: Journal) -> None:
    resolver = Resolver(DataPlaces(directory=tmp_path / "data"), frozenset({"r"}), journal)
    fused = reference("gs://bucket/x", is_dir=True, mount_path="/gcs/x", fuse=True)
    resolver.mount([fused])
    assert resolver.resolve([fused], {}).args == ("/gcs/x",)


@pytest.mark.parametrize("path", ["data", "/a/../../b"])
def test_a_mount_path_that_is_not_absolute_or_climbs_is_refused(resolver: Resolver, path: str) -> None:
    with pytest.raises(ValueError, match="must be absolute and must not climb"):
        resolver.mount([reference("file:///x", mount_path=path)])


@pytest.mark.parametrize("volume", [3, {"uri": "x"}, reference("file:///x")])
def test_a_volume_without_a_mount_path_is_refused(resolver: Resolver, volume: Any) -> None:
    with pytest.raises(ValueError, match="no reference with a mount path"):
        resolver.mount([volume])
