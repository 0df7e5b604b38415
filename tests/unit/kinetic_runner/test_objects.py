"""Data in remote stores: what a URL stands for, room for it, and getting all of it."""

import errno
import io
import threading
import tracemalloc
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec import AbstractFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from kinetic_core.wire.reference import Reference
from kinetic_runner import fetch
from kinetic_runner.objects import RemoteData, make_room
from kinetic_runner.resolve import DataPlaces, Resolver, _copy
from tests.unit.kinetic_runner.inprocess import reference
from tests.unit.kinetic_runner.journal import Journal

pytestmark = pytest.mark.usefixtures("own_process")


class Telling(MemoryFileSystem):  # type: ignore[misc]  # fsspec publishes no types
    """A store that says other sizes than it delivers."""

    protocol = "telling"
    store: dict[str, Any] = {}  # noqa: RUF012 - a store of its own, shared by its instances as fsspec's is
    pseudo_dirs = [""]  # noqa: RUF012 - the same
    sizes: dict[str, int | None] = {}  # noqa: RUF012 - the same

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        stripped: str = super()._strip_protocol(path.replace("telling://", "memory://"))
        return stripped

    def info(self, path: str, **kwargs: Any) -> Any:
        return self._told(super().info(path, **kwargs))

    def find(self, path: str, **kwargs: Any) -> Any:
        return {name: self._told(told) for name, told in super().find(path, **kwargs).items()}

    def _told(self, told: dict[str, Any]) -> dict[str, Any]:
        return told | {"size": self.sizes[told["name"]]} if told["name"] in self.sizes else told


@pytest.fixture
def telling() -> Iterator[Telling]:
    fsspec.register_implementation("telling", Telling, clobber=True)
    Telling.store.clear()
    Telling.sizes.clear()
    yield Telling()
    Telling.store.clear()


@pytest.fixture
def resolver(tmp_path: Path, journal: Journal) -> Resolver:
    return Resolver(DataPlaces(directory=tmp_path / "data"), None, journal)


def remote(uri: str, **more: Any) -> Reference:
    return Reference(**{"uri": uri, "is_dir": False, **more})


def test_a_prefix_without_a_slash_is_a_directory_with_a_warning(
    memory: Any, resolver: Resolver, journal: Journal
) -> None:
    for name in ("a.txt", "deep/b.txt"):
        memory.pipe_file(f"/set/{name}", name.encode())
    memory.pipe_file("/set2/other", b"")
    (path,) = resolver.resolve([reference("memory://set")], {}).args
    assert sorted(file.name for file in Path(path).rglob("*") if file.is_file()) == ["a.txt", "b.txt"]
    (warning,) = journal.warnings
    assert "memory://set names no object but 2 below it" in warning


def test_a_prefix_with_a_slash_is_one_without_a_warning(memory: Any, resolver: Resolver, journal: Journal) -> None:
    memory.pipe_file("/set/a.txt", b"a")
    resolver.resolve([reference("memory://set/", is_dir=True)], {})
    assert journal.warnings == []


def test_what_is_nowhere_is_told_by_its_name(memory: Any, resolver: Resolver) -> None:
    for uri, is_dir in (("memory://gone", False), ("memory://gone/", True)):
        with pytest.raises(FileNotFoundError, match="gone"):
            resolver.resolve([reference(uri, is_dir=is_dir)], {})


def test_an_object_that_comes_short_is_fetched_again(
    telling: Telling, tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_runner.retry._DELAYS_S", (0.0,))
    telling.pipe_file("/x/one", b"123")
    telling.sizes["/x/one"] = 7
    found = RemoteData.find(remote("telling://x/one"), journal)
    with pytest.raises(OSError, match="3 bytes came of 7"):
        found.download(tmp_path / "one", log=journal)
    assert list(tmp_path.iterdir()) == []
    assert "trying again" in journal.text_of_all


def test_data_without_room_for_it_is_refused_before_a_byte_comes(
    telling: Telling, resolver: Resolver, tmp_path: Path
) -> None:
    telling.pipe_file("/x/one", b"123")
    telling.sizes["/x/one"] = 1 << 62
    with pytest.raises(OSError, match=r"telling://x/one holds 4294967296.00 GB, and the disk of .* GB left") as caught:
        resolver.resolve([reference("telling://x/one")], {})
    assert caught.value.errno == errno.ENOSPC
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_local_data_without_room_is_refused_too(resolver: Resolver, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    with tree.joinpath("sparse").open("wb") as stream:
        # More than any disk has, and none of it is written.
        stream.truncate(1 << 42)
    for uri in (f"file://{tree}", f"file://{tree}/sparse"):
        with pytest.raises(OSError, match=r"4096\.00 GB"):
            resolver.resolve([reference(uri, is_dir=uri.endswith("tree"))], {})


def test_room_is_looked_for_where_the_data_will_lie(tmp_path: Path) -> None:
    make_room("gs://b/x", 1, tmp_path / "not/yet/there")
    with pytest.raises(OSError, match=f"the disk of {tmp_path} has"):
        make_room("gs://b/x", 1 << 62, tmp_path / "not/yet/there")
    assert not (tmp_path / "not").exists()


def test_what_takes_long_is_told_in_one_line(memory: Any, tmp_path: Path, journal: Journal) -> None:
    for number in range(3):
        memory.pipe_file(f"/set/{number}", b"x" * 1024**2)
    found = RemoteData.find(remote("memory://set/", is_dir=True), journal)
    ticks = iter([0.0, 2.5])
    found.download(tmp_path / "set", log=journal, clock=lambda: next(ticks))
    assert journal.text_of_all == "kinetic: memory://set/: 3 objects, 3.0 MB in 2.5 s\n"


def test_local_data_that_takes_long_is_told_too(tmp_path: Path, journal: Journal) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    for name in ("a", "sub/b"):
        (tree / name).write_bytes(b"x" * 1024**2)
    ticks = iter([0.0, 1.0, 0.0, 0.9, 0.0, 3.0])
    for source, target in ((tree, "one"), (tree, "two"), (tree / "a", "three")):
        asked = remote(f"file://{source}", is_dir=source == tree)
        _copy(asked, source, tmp_path / target, journal, clock=lambda: next(ticks))
    assert journal.text_of_all.splitlines() == [
        f"kinetic: file://{tree}: 2 objects, 2.0 MB in 1.0 s",
        f"kinetic: file://{tree}/a: 1 objects, 1.0 MB in 3.0 s",
    ]


def test_many_objects_are_fetched_side_by_side_and_few_are_in_memory(
    memory: Any, tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        memory.pipe_file(f"/set/{number}", b"x")
    running: list[int] = []
    most: list[int] = []
    plain = fetch.download

    def counted(url: str, file: Path) -> str:
        running.append(1)
        most.append(len(running))
        try:
            return plain(url, file)
        finally:
            running.pop()

    monkeypatch.setattr("kinetic_runner.objects.download", counted)
    RemoteData.find(remote("memory://set/", is_dir=True), journal).download(tmp_path / "set", log=journal)
    assert len(most) == len(list((tmp_path / "set").iterdir())) == 40
    assert max(most) <= 8


def test_a_store_that_tells_no_size_is_believed(telling: Telling, tmp_path: Path, journal: Journal) -> None:
    telling.pipe_file("/x/one", b"123")
    telling.sizes["/x/one"] = None
    found = RemoteData.find(remote("telling://x/", is_dir=True), journal)
    assert found.objects == (("telling://x/one", "one", None),)
    found.download(tmp_path / "x", log=journal)
    assert (tmp_path / "x/one").read_bytes() == b"123"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files whole, whatever range is asked for."""

    def log_message(self, *_: Any) -> None: ...


def test_a_server_on_the_web_that_knows_no_ranges_is_read_too(tmp_path: Path, journal: Journal) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set/long").write_bytes(bytes(range(256)) * (80 << 10))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "set")) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            found = RemoteData.find(remote(f"http://127.0.0.1:{server.server_port}/long"), journal)
            found.download(tmp_path / "long", log=journal)
        finally:
            server.shutdown()
            thread.join()
    assert (tmp_path / "long").read_bytes() == (tmp_path / "set/long").read_bytes()
    assert journal.warnings == []


class Zeros(AbstractFileSystem):  # type: ignore[misc]  # fsspec publishes no types
    """A store of long objects that takes no memory itself."""

    protocol = "zeros"
    size_bytes = 100 << 20

    def info(self, path: str, **_: Any) -> Any:
        return {"name": path, "size": self.size_bytes, "type": "file"}

    def find(self, path: str, **_: Any) -> Any:
        return {f"{path}{number}": self.info(f"{path}{number}") for number in range(2)}

    def _open(self, path: str, *_: Any, **__: Any) -> Any:
        class Zero(io.RawIOBase):
            left = self.size_bytes

            def read(self, size: int = -1) -> bytes:
                given = min(size if size >= 0 else self.left, self.left)
                self.left -= given
                return bytes(given)

        return Zero()


def test_memory_is_bounded_however_long_objects_are(tmp_path: Path, journal: Journal) -> None:
    fsspec.register_implementation("zeros", Zeros, clobber=True)
    found = RemoteData.find(remote("zeros://set/", is_dir=True), journal)
    assert found.size_bytes == 2 * Zeros.size_bytes
    tracemalloc.start()
    try:
        found.download(tmp_path / "set", log=journal)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # What one object takes is two pieces: the one that is written, and the next.
    assert most_bytes < Zeros.size_bytes
