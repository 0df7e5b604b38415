import json
import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic.references import DataHandler
from kinetic.testing.log import RecordingLog
from kinetic_core.errors import PackagingError, StorageError
from kinetic_core.plugin import DriverContext, Progress, StoredObject
from kinetic_core.references import hashing
from kinetic_core.references.data import Data
from kinetic_fsspec.file import FileStorage


@attrs.define
class CountingStorage:
    """A store that notes what is written to it."""

    inner: FileStorage
    written: list[str] = attrs.field(factory=list)
    fail_at: str = ""

    @property
    def url(self) -> str:
        return self.inner.url

    @url.setter
    def url(self, value: str) -> None:
        raise AttributeError(value)

    def put_file(self, path: Path, key: str) -> None:
        if self.fail_at and key.endswith(self.fail_at):
            raise StorageError(f"cannot write {key}: connection lost")
        self.written.append(key)
        self.inner.put_file(path, key)

    def put_bytes(self, data: bytes, key: str) -> None:
        self.written.append(key)
        self.inner.put_bytes(data, key)

    def put_if_absent(self, data: bytes, key: str) -> bool:
        return self.inner.put_if_absent(data, key)

    def get_file(self, key: str, path: Path) -> None:
        self.inner.get_file(key, path)

    def get_bytes(self, key: str) -> bytes:
        return self.inner.get_bytes(key)

    def exists(self, key: str) -> bool:
        return self.inner.exists(key)

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        return self.inner.list(prefix)

    def delete_prefix(self, prefix: str) -> None:
        self.inner.delete_prefix(prefix)

    def url_of(self, key: str) -> str:
        return self.inner.url_of(key)


@pytest.fixture
def store(tmp_path: Path) -> CountingStorage:
    return CountingStorage(FileStorage(tmp_path / "store"))


@pytest.fixture
def log() -> RecordingLog:
    return RecordingLog()


@pytest.fixture
def handler(log: RecordingLog, tmp_path: Path) -> DataHandler:
    return DataHandler(DriverContext(log=log, environ={}, home=tmp_path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    (path / "sub").mkdir(parents=True)
    (path / "a.txt").write_bytes(b"alpha")
    (path / "sub/b.bin").write_bytes(b"\0" * 100)
    (path / "empty/deep").mkdir(parents=True)
    return path


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "a.txt"


def keys(store: CountingStorage) -> list[str]:
    return [found.key for found in store.list()]


def test_the_archive_is_told_to_leave_out_local_data_and_no_url(handler: DataHandler, folder: Path) -> None:
    assert handler.local_path(Data(folder)) == folder
    assert handler.local_path(Data("gs://bucket/key")) is None


def test_a_file_is_referred_to_by_its_hash_and_name(handler: DataHandler, store: CountingStorage, file: Path) -> None:
    data = Data(file)
    reference = handler.reference(data, store_url=store.url)
    assert reference.uri == f"{store.url}/cache/{data.content_hash()}/a.txt"
    assert not reference.is_dir
    assert reference.empty_dirs == ()


def test_a_directory_is_referred_to_by_its_hash_with_its_empty_directories(
    handler: DataHandler, store: CountingStorage, folder: Path
) -> None:
    data = Data(folder)
    reference = handler.reference(data, store_url=store.url)
    assert reference.uri == f"{store.url}/cache/{data.content_hash()}/"
    assert reference.is_dir
    assert reference.empty_dirs == ("empty/deep",)


def test_an_empty_directory_is_told_apart_from_one_that_got_lost(handler: DataHandler, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    assert handler.reference(Data(tmp_path / "nothing"), store_url="file:///store").empty_dirs == (".",)


def test_referring_uploads_nothing(handler: DataHandler, store: CountingStorage, folder: Path) -> None:
    handler.reference(Data(folder), store_url=store.url)
    assert keys(store) == []


@pytest.mark.parametrize("path", ["data", "data/a.txt"])
def test_without_a_store_the_hash_alone_is_the_reference(handler: DataHandler, folder: Path, path: str) -> None:
    data = Data(folder.parent / path)
    assert handler.reference(data, store_url=None).uri == f"cache:{data.content_hash()}"


def test_what_is_referred_to_is_what_is_uploaded(
    handler: DataHandler, store: CountingStorage, folder: Path, file: Path
) -> None:
    for data in (Data(folder), Data(file)):
        assert handler.stage(data, store)
    digest = Data(folder).content_hash()
    assert {found.key: found.size_bytes for found in store.list(f"cache/{digest}")} == {
        f"cache/{digest}/a.txt": 5,
        f"cache/{digest}/sub/b.bin": 100,
    }
    key = handler.reference(Data(file), store_url=store.url).uri.removeprefix(f"{store.url}/")
    assert store.get_bytes(key) == b"alpha"


@pytest.mark.parametrize("url", ["gs://bucket/images/", "s3://bucket/model.bin", "file:///nowhere/at/all"])
def test_a_url_passes_through_unchanged(handler: DataHandler, store: CountingStorage, url: str) -> None:
    data = Data(url)
    assert handler.reference(data, store_url=store.url).uri == url
    assert handler.reference(data, store_url=None).uri == url
    assert handler.reference(data, store_url=None).is_dir is url.endswith("/")
    assert handler.stage(data, store) is False
    handler.unstage(data, store)
    assert keys(store) == []


def test_options_travel_with_the_reference(handler: DataHandler) -> None:
    assert handler.reference(Data("gs://bucket/images/", fuse=True), store_url=None).fuse
    data = Data("hf://name?split=train", hf_trust_remote_code=True)
    assert handler.reference(data, store_url=None).hf_trust_remote_code


@pytest.mark.parametrize("path", ["data", "data/a.txt", "data/empty"])
def test_a_second_use_uploads_nothing(
    handler: DataHandler, store: CountingStorage, log: RecordingLog, folder: Path, path: str
) -> None:
    assert handler.stage(Data(folder.parent / path), store)
    store.written.clear()
    assert not handler.stage(Data(folder.parent / path), store)
    assert store.written == []
    assert log.events("debug") == ["data_uploaded", "data_found"]


def test_the_completion_marker_is_written_last(handler: DataHandler, store: CountingStorage, folder: Path) -> None:
    data = Data(folder)
    handler.stage(data, store)
    assert store.written[-1] == f"cache/{data.content_hash()}.complete"
    assert json.loads(store.get_bytes(store.written[-1])) == {"format": 1, "files": 2, "size_bytes": 105}


def test_a_half_finished_upload_is_finished_by_the_next(
    handler: DataHandler, store: CountingStorage, folder: Path
) -> None:
    store.fail_at = "sub/b.bin"
    with pytest.raises(StorageError, match="connection lost"):
        handler.stage(Data(folder), store)
    assert keys(store) != []
    store.fail_at = ""
    assert handler.stage(Data(folder), store)
    assert not handler.stage(Data(folder), store)


def test_files_are_uploaded_some_at_once_and_none_after_a_failure(
    handler: DataHandler, store: CountingStorage, tmp_path: Path
) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(200):
        many.joinpath(f"{number:03}").write_text("x")
    put, begun, second = store.inner.put_file, list[str](), threading.Event()

    def meet(path: Path, key: str, *, progress: Progress | None = None) -> None:
        assert progress is None
        begun.append(key)
        if len(begun) > 1:
            second.set()
        assert second.wait(30)
        put(path, key)

    store.inner.put_file = meet  # type: ignore[method-assign]
    store.fail_at = "/100"
    with pytest.raises(StorageError, match="connection lost"):
        handler.stage(Data(many), store)
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("kinetic-put")]
    assert not any(key.endswith(".complete") for key in store.written)
    store.fail_at = ""
    handler.stage(Data(many), store)
    assert len(set(store.written)) == 201


def test_what_a_failed_upload_of_something_else_left_is_removed(
    handler: DataHandler, store: CountingStorage, folder: Path
) -> None:
    digest = Data(folder).content_hash()
    store.inner.put_bytes(b"foreign", f"cache/{digest}/foreign.txt")
    handler.stage(Data(folder), store)
    assert f"cache/{digest}/foreign.txt" not in keys(store)
    assert not handler.stage(Data(folder), store)


@pytest.mark.parametrize("vanished", ["{}/a.txt", "{}/sub", "{}", "{}.complete"])
def test_content_that_vanished_is_uploaded_again(
    handler: DataHandler, store: CountingStorage, folder: Path, vanished: str
) -> None:
    data = Data(folder)
    handler.stage(data, store)
    before = keys(store)
    store.delete_prefix(f"cache/{vanished.format(data.content_hash())}")
    assert handler.stage(data, store)
    assert keys(store) == before


def test_content_that_shrank_is_uploaded_again(handler: DataHandler, store: CountingStorage, file: Path) -> None:
    data = Data(file)
    handler.stage(data, store)
    store.inner.put_bytes(b"", f"cache/{data.content_hash()}/a.txt")
    assert handler.stage(data, store)
    assert store.get_bytes(f"cache/{data.content_hash()}/a.txt") == b"alpha"


def test_data_that_changed_since_it_was_hashed_never_counts_as_uploaded(
    handler: DataHandler, store: CountingStorage, folder: Path
) -> None:
    data = Data(folder)
    data.content_hash()
    (folder / "a.txt").write_bytes(b"omega")
    with pytest.raises(PackagingError, match="changed after its content was hashed"):
        handler.stage(data, store)
    assert keys(store) == []


@pytest.mark.parametrize("now", [Path.unlink, Path.mkdir, os.mkfifo])
def test_what_is_no_file_any_more_counts_as_changed(
    handler: DataHandler, store: CountingStorage, folder: Path, now: Any
) -> None:
    data, path = Data(folder), folder / "a.txt"
    data.content_hash()
    path.unlink()
    if now is not Path.unlink:
        now(path)
    with pytest.raises(PackagingError, match="changed after its content was hashed"):
        handler.stage(data, store)
    assert [key for key in keys(store) if key.endswith(".complete")] == []


def test_a_name_that_is_no_text_is_refused_where_the_store_has_no_such(
    handler: DataHandler, store: CountingStorage, folder: Path
) -> None:
    name = os.fsdecode(b"caf\xe9")
    (folder / name).write_bytes(b"1")
    for url in ("gs://bucket", "s3://bucket/x", "abfs://box"):
        with pytest.raises(PackagingError, match=r"caf.xe9.*is no text in UTF-8, and the store .*; rename it"):
            handler.reference(Data(folder), store_url=url)
    assert handler.stage(Data(folder), store)
    assert f"cache/{Data(folder).content_hash()}/{name}" in keys(store)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Return more data than is hashed as fast as looked up."""
    path = tmp_path / "many"
    path.mkdir()
    for number in range(50):
        (path / f"{number}.bin").write_bytes(b"x" * number)
    return path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each file that is opened for hashing."""
    noted: list[str] = []
    original = hashing._hash_file

    def noting(path: str) -> Any:
        noted.append(Path(path).name)
        return original(path)

    monkeypatch.setattr(hashing, "_hash_file", noting)
    return noted


def test_no_file_is_hashed_twice_between_hash_and_upload(
    handler: DataHandler, store: CountingStorage, many: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_core.model.trust.RACY_NS", -(10**12))
    data = Data(many)
    handler.reference(data, store_url=store.url)
    assert handler.stage(data, store)
    assert len(read) == 50
    read.clear()
    again = Data(many)
    handler.reference(again, store_url=store.url)
    assert not handler.stage(again, store)
    assert handler.findings(again) == ()
    assert read == []


def test_what_was_just_written_is_hashed_once_more_after_its_upload(
    handler: DataHandler, store: CountingStorage, many: Path, read: list[str]
) -> None:
    assert handler.stage(Data(many), store)
    assert len(read) == 100


def test_unstaging_removes_what_was_uploaded_and_nothing_else(
    handler: DataHandler, store: CountingStorage, folder: Path, file: Path
) -> None:
    handler.stage(Data(file), store)
    before = keys(store)
    handler.stage(Data(folder), store)
    handler.unstage(Data(folder), store)
    assert keys(store) == before


def test_threads_that_upload_the_same_at_once_all_succeed(
    handler: DataHandler, store: CountingStorage, folder: Path
) -> None:
    start = threading.Barrier(6)

    def stage(_: int) -> None:
        start.wait()
        handler.stage(Data(folder), store)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(stage, range(6)))
    assert not handler.stage(Data(folder), store)


def _stage(folder: Path, root: Path) -> bool:
    handler = DataHandler(DriverContext(log=RecordingLog(), environ={}, home=root))
    return handler.stage(Data(folder), FileStorage(root))


def test_processes_that_upload_the_same_at_once_all_succeed(
    handler: DataHandler, store: CountingStorage, folder: Path, tmp_path: Path
) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(_stage, [(folder, tmp_path / "store")] * 4)
    assert not handler.stage(Data(folder), store)
    assert (tmp_path / "store/cache" / Data(folder).content_hash() / "a.txt").read_bytes() == b"alpha"


def test_the_scheme_of_a_url_may_be_in_capitals(handler: DataHandler) -> None:
    assert handler.reference(Data("GS://Bucket/A"), store_url=None).uri == "gs://Bucket/A"
    assert handler.reference(Data("simplecache::GS://b"), store_url=None).uri == "simplecache::gs://b"


@pytest.mark.parametrize("name", [".kinetic-part-x", "sub/.kinetic-part-x/y"])
def test_a_name_that_stores_keep_for_themselves_is_refused_before_anything_is_uploaded(
    handler: DataHandler, store: CountingStorage, folder: Path, name: str
) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("x")
    data = Data(folder)
    with pytest.raises(PackagingError) as caught:
        handler.reference(data, store_url=store.url)
    assert repr(data) in str(caught.value)
    assert repr(name) in str(caught.value)
    assert store.written == []
