import threading
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from kinetic_core.errors import StorageError
from kinetic_fsspec.remote import FsspecStorage


class Scripted(MemoryFileSystem):  # type: ignore[misc]  # fsspec publishes no types
    """A file system that answers as an object store may."""

    def __init__(self, **answers: Any) -> None:
        super().__init__(global_store=False, skip_instance_cache=True)
        self.answers = answers

    def find(self, path: str, **options: Any) -> Any:
        answer = self.answers.get("find", super().find(path, **options))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        if "pipe_file" in self.answers:
            raise self.answers["pipe_file"]
        super().pipe_file(path, value, mode=mode, **options)


def store(**answers: Any) -> FsspecStorage:
    return FsspecStorage(Scripted(**answers), "memory://bucket/prefix", threading.Lock())


def test_a_listing_without_the_prefix_is_empty() -> None:
    assert list(store(find=FileNotFoundError("no such prefix")).list("job")) == []


def test_what_somebody_else_created_first_is_not_overwritten() -> None:
    assert store(pipe_file=FileExistsError("precondition failed")).put_if_absent(b"1", "key") is False


def test_a_foreign_error_is_told_in_our_words() -> None:
    with pytest.raises(StorageError, match=r"cannot write memory://bucket/prefix/key: RuntimeError: boom") as told:
        store(pipe_file=RuntimeError("boom")).put_bytes(b"1", "key")
    assert isinstance(told.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("info", "seconds"), [({"mtime": 12.5}, 12.5), ({"LastModified": "yesterday"}, 0.0), ({}, 0.0)]
)
def test_the_time_of_change_is_what_the_store_tells(info: dict[str, Any], seconds: float) -> None:
    found = {"/bucket/prefix/key": {"size": 3, "type": "file", **info}}
    assert [one.modified_s for one in store(find=found).list()] == [seconds]


def test_two_stores_of_one_process_share_what_is_in_memory(tmp_path: Path) -> None:
    lock = threading.Lock()
    one, other = (FsspecStorage(MemoryFileSystem(), "memory://shared-by-two", lock) for _ in range(2))
    one.put_bytes(b"1", "key")
    assert other.get_bytes("key") == b"1"
    other.delete_prefix("key")
    assert not one.exists("key")
