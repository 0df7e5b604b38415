import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from kinetic.testing.log import RecordingLog
from kinetic_core.errors import StorageError
from kinetic_fsspec.bucket import TakenError
from kinetic_fsspec.failures import Masked
from kinetic_fsspec.generic import FsspecBucket
from kinetic_fsspec.parts import LocalSink
from kinetic_fsspec.remote import WHOLE_BYTES, RemoteStorage
from kinetic_fsspec.retries import Policy, Retries
from kinetic_fsspec.tally import Tally


class Scripted(MemoryFileSystem):  # type: ignore[misc]  # fsspec publishes no types
    """A file system that answers as an object store may."""

    cachable = False

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        self.store: dict[str, Any] = {}
        self.pseudo_dirs = [""]
        self.answers = answers

    def find(self, path: str, **options: Any) -> Any:
        return self._answer("find", lambda: super(Scripted, self).find(path, **options))

    def size(self, path: str) -> Any:
        return self._answer("size", lambda: super(Scripted, self).size(path))

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        self._answer("pipe_file", lambda: super(Scripted, self).pipe_file(path, value, mode=mode, **options))

    def _answer(self, name: str, otherwise: Callable[[], Any]) -> Any:
        answer = self.answers.get(name)
        if isinstance(answer, list):
            answer = answer.pop(0) if answer else None
        if isinstance(answer, Exception):
            raise answer
        return otherwise() if answer is None else answer


def store(*, atomic: bool = True, log: RecordingLog | None = None, **answers: Any) -> RemoteStorage:
    bucket = FsspecBucket(Scripted(**answers), "/bucket/prefix", threading.RLock(), atomic=atomic)
    policy = Policy(attempts=3, sleep=lambda _: None)
    retries = Retries(policy=policy, log=log or RecordingLog(), masked=Masked.of({"token": "hush-hush"}))
    return RemoteStorage(url="memory://bucket/prefix", bucket=bucket, retries=retries)


def test_a_listing_without_the_prefix_is_empty() -> None:
    assert list(store(find=FileNotFoundError("no such prefix")).list("job")) == []


def test_what_somebody_else_created_first_is_not_overwritten() -> None:
    assert store(pipe_file=FileExistsError("precondition failed")).put_if_absent(b"1", "key") is False


def test_a_foreign_error_is_told_in_our_words() -> None:
    with pytest.raises(StorageError, match=r"cannot write memory://bucket/prefix/key: RuntimeError: boom") as told:
        store(pipe_file=RuntimeError("boom")).put_bytes(b"1", "key")
    assert isinstance(told.value.__cause__, RuntimeError)


def test_an_error_that_shows_a_secret_is_told_without_it() -> None:
    with pytest.raises(StorageError, match=r"denied to \*\*\*") as told:
        store(pipe_file=RuntimeError("denied to hush-hush")).put_bytes(b"1", "key")
    assert told.value.__cause__ is None


def test_a_retry_is_logged_without_secrets() -> None:
    log = RecordingLog()
    store(log=log, pipe_file=[ConnectionResetError("by hush-hush")]).put_bytes(b"1", "key")
    (record,) = log.records
    assert record.event == "storage_request_repeated"
    assert record.details["error"] == "ConnectionResetError: by ***"


@pytest.mark.parametrize(
    ("info", "seconds"),
    [
        ({"mtime": 12.5}, 12.5),
        ({"LastModified": "yesterday"}, 0.0),
        ({"last_modified": datetime.fromtimestamp(3, tz=UTC)}, 3.0),
        ({}, 0.0),
    ],
)
def test_the_time_of_change_is_what_the_store_tells(info: dict[str, Any], seconds: float) -> None:
    found = {"/bucket/prefix/key": {"size": 3, "type": "file", **info}}
    assert [one.modified_s for one in store(find=found).list()] == [seconds]


def test_unfinished_parts_are_not_listed_and_go_with_their_folder() -> None:
    there = store()
    for name in ("job/.kinetic-part-0/1", "job/key"):
        there.bucket.put(name, b"1")
    assert [found.key for found in there.list()] == ["job/key"]
    there.delete_prefix("job")
    assert there.bucket.page("", "") == ([], "")


def test_a_write_of_another_size_is_made_again() -> None:
    there = store(size=[3])
    there.put_bytes(b"12345", "key")
    assert there.get_bytes("key") == b"12345"


def test_what_shows_while_it_is_written_is_written_elsewhere_and_moved() -> None:
    there = store(atomic=False)
    there.put_bytes(b"1", "a/key")
    assert there.put_if_absent(b"2", "a/key") is False
    assert there.put_if_absent(b"2", "a/new") is True
    assert [found.key for found in there.list()] == ["a/key", "a/new"]
    assert there.bucket.page("", "")[0] == list(there.list())


def test_a_part_that_cannot_be_moved_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    there = store(atomic=False)
    monkeypatch.setattr(Scripted, "mv", refused)
    with pytest.raises(StorageError, match="Permission denied"):
        there.put_bytes(b"1", "key")
    assert there.bucket.page("", "") == ([], "")


def test_a_label_is_nothing_that_fsspec_knows() -> None:
    there = store(pipe_file=[ConnectionResetError()])
    assert there.put_if_absent(b"1", "key") is True
    assert there.bucket.writer_of("key") is None


def test_large_bytes_go_in_parts() -> None:
    there = store()
    there.put_bytes(b"x" * (WHOLE_BYTES + 1), "key")
    assert len(there.get_bytes("key")) == WHOLE_BYTES + 1


def test_a_full_disk_is_not_the_stores_fault(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(StorageError, match="cannot write the local"):
        LocalSink(full, tmp_path / "out", Tally(None)).write(b"1")


def test_two_stores_of_one_process_share_what_is_in_memory() -> None:
    lock = threading.RLock()
    one, other = (FsspecBucket(MemoryFileSystem(), "/shared-by-two", lock, atomic=True) for _ in range(2))
    one.put("key", b"1")
    assert other.holds("key")
    with pytest.raises(TakenError):
        other.put("key", b"2", only_new=True)
    other.delete(["key"])
    assert not one.holds("key")
