"""What every store promises."""

import stat
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from kinetic.testing.contract import Contract
from kinetic.testing.place import Place
from kinetic_core.errors import ObjectNotFoundError, StorageError
from kinetic_core.plugin import BulkStorage, Storage

ODD_KEYS: Final = (
    "plain",
    "with space",
    "a*",
    "a?b",
    "[ab]",
    "per%20cent",
    "hash#tag",
    "naïve-日本",
    "back\\slash",
    "-dash",
    ".hidden",
    "~",
    "new\nline",
    "deep/er/and/deeper",
)


def keys(store: Storage, prefix: str = "") -> list[str]:
    """Return the keys of a listing."""
    return [found.key for found in store.list(prefix)]


class StorageContract(Contract):
    """Override `place`, and `unnameable` where a store has no objects of some names.

    ```python
    class TestMine(StorageContract):
        @pytest.fixture
        def place(self, tmp_path):
            context = DriverContext(log=RecordingLog(), environ={}, home=tmp_path)
            return StorePlace(url=f"mine://{tmp_path}/store", driver=DRIVER, context=context)
    ```
    """

    @pytest.fixture
    def place(self) -> Place:
        """Where the test keeps its objects: nobody else's, and empty."""
        raise NotImplementedError("override the fixture `place`: return a StorePlace with a URL of this test's own")

    @pytest.fixture
    def unnameable(self) -> Mapping[str, str]:
        """Return which of `ODD_KEYS` the store has no name for, each with the reason."""
        return {}

    @pytest.fixture
    def store(self, place: Place) -> Storage:
        """Return the opened store."""
        return place.open()

    @pytest.fixture
    def local(self, tmp_path: Path) -> Iterator[Path]:
        """Give a folder of the user's, in which no part file may be left."""
        folder = tmp_path / "local"
        folder.mkdir()
        yield folder
        assert not [path.name for path in folder.iterdir() if path.name.startswith(".")], "a part file was left"

    def test_an_object_comes_back_byte_for_byte(self, store: Storage) -> None:
        data = bytes(range(256)) * 5000
        store.put_bytes(data, "job/payload.pkl")
        assert store.get_bytes("job/payload.pkl") == data

    def test_a_file_comes_back_byte_for_byte(self, store: Storage, local: Path) -> None:
        (local / "in").write_bytes(b"\0\r\n\xff" * 700_000)
        store.put_file(local / "in", "job/context.zip")
        store.get_file("job/context.zip", local / "out")
        assert (local / "out").read_bytes() == (local / "in").read_bytes()

    def test_files_taken_in_bulk_come_back_and_the_others_are_named(self, store: Storage, local: Path) -> None:
        if not isinstance(store, BulkStorage):
            pytest.skip("the store takes nothing in bulk")
        contents = {f"cache/{number}/a?b#c [{number}]": b"x" * number for number in range(20)} | {
            "cache/large": bytes(9_000_000)
        }
        files = {key: local / str(number) for number, key in enumerate(contents)}
        for key, path in files.items():
            path.write_bytes(contents[key])
        moved: list[int] = []
        left = store.put_files(files, progress=moved.append)
        taken = {key: data for key, data in contents.items() if key not in left}
        assert {key: store.get_bytes(key) for key in keys(store)} == taken
        assert sum(moved) == sum(map(len, taken.values()))

    def test_an_empty_object_exists(self, store: Storage) -> None:
        store.put_bytes(b"", "empty")
        assert store.exists("empty")
        assert store.get_bytes("empty") == b""

    def test_a_second_write_replaces_the_first(self, store: Storage, local: Path) -> None:
        store.put_bytes(b"long first text", "key")
        (local / "in").write_bytes(b"second")
        store.put_file(local / "in", "key")
        assert store.get_bytes("key") == b"second"
        assert keys(store) == ["key"]

    def test_reading_a_file_replaces_what_is_at_the_path(self, store: Storage, local: Path) -> None:
        (local / "out").write_bytes(b"old and longer")
        store.put_bytes(b"new", "key")
        store.get_file("key", local / "out")
        assert (local / "out").read_bytes() == b"new"

    @pytest.mark.parametrize("key", ODD_KEYS)
    def test_no_character_of_a_key_is_a_pattern(self, store: Storage, key: str, unnameable: Mapping[str, str]) -> None:
        if key in unnameable:
            pytest.xfail(unnameable[key])
        store.put_bytes(b"bystander", "bystander")
        store.put_bytes(b"ab", "ab")
        store.put_bytes(b"odd", f"folder/{key}")
        assert store.exists(f"folder/{key}")
        assert store.get_bytes(f"folder/{key}") == b"odd"
        assert keys(store, "folder") == [f"folder/{key}"]
        store.delete_prefix(f"folder/{key}")
        assert keys(store) == ["ab", "bystander"]

    @pytest.mark.parametrize("key", ["", "/", "a//b", "/a", "a/", "..", "../a", "a/../b", ".", "a/./b", "a\0b"])
    def test_a_key_that_is_no_plain_name_is_refused_everywhere(self, store: Storage, local: Path, key: str) -> None:
        (local / "in").touch()
        for refused in (
            lambda: store.put_bytes(b"", key),
            lambda: store.put_file(local / "in", key),
            lambda: store.put_if_absent(b"", key),
            lambda: store.get_bytes(key),
            lambda: store.get_file(key, local / "out"),
            lambda: store.exists(key),
        ):
            with pytest.raises(StorageError):
                refused()
        assert not (local / "out").exists()

    @pytest.mark.parametrize("prefix", ["", "/", "..", "a/..", "../store2"])
    def test_no_prefix_deletes_the_store_itself_or_what_is_outside(self, store: Storage, prefix: str) -> None:
        store.put_bytes(b"1", "a/b")
        with pytest.raises(StorageError):
            store.delete_prefix(prefix)
        assert keys(store) == ["a/b"]

    def test_a_missing_object_is_told_by_its_url(self, store: Storage, local: Path) -> None:
        with pytest.raises(ObjectNotFoundError) as missing:
            store.get_bytes("job/none")
        assert store.url_of("job/none") in str(missing.value)
        with pytest.raises(FileNotFoundError):
            store.get_file("job/none", local / "out")
        assert list(local.iterdir()) == []

    def test_a_folder_is_no_object(self, store: Storage) -> None:
        store.put_bytes(b"1", "folder/key")
        assert not store.exists("folder")
        with pytest.raises(ObjectNotFoundError):
            store.get_bytes("folder")

    def test_nothing_exists_below_an_object(self, store: Storage) -> None:
        store.put_bytes(b"1", "key")
        assert not store.exists("key/below")
        assert keys(store, "key") == []

    def test_a_local_file_that_is_missing_is_not_taken_for_a_missing_object(self, store: Storage, local: Path) -> None:
        with pytest.raises(StorageError) as failure:
            store.put_file(local / "none", "key")
        assert not isinstance(failure.value, ObjectNotFoundError)
        assert not store.exists("key")

    def test_a_target_that_cannot_be_written_is_told(self, store: Storage, local: Path) -> None:
        store.put_bytes(b"1", "key")
        with pytest.raises(StorageError):
            store.get_file("key", local / "none" / "out")

    def test_a_target_that_is_a_directory_is_told_and_no_part_is_left(self, store: Storage, local: Path) -> None:
        store.put_bytes(b"1", "key")
        (local / "out").mkdir()
        with pytest.raises(StorageError):
            store.get_file("key", local / "out")

    def test_put_if_absent_stores_once(self, store: Storage) -> None:
        assert store.put_if_absent(b"first", "jobs/job-1")
        assert not store.put_if_absent(b"second", "jobs/job-1")
        assert store.get_bytes("jobs/job-1") == b"first"

    def test_put_if_absent_works_again_after_deletion(self, store: Storage) -> None:
        assert store.put_if_absent(b"first", "key")
        store.delete_prefix("key")
        assert store.put_if_absent(b"second", "key")
        assert store.get_bytes("key") == b"second"

    def test_one_of_many_threads_wins_put_if_absent(self, store: Storage) -> None:
        start = threading.Barrier(16)

        def claim(number: int) -> bool:
            start.wait()
            return store.put_if_absent(b"%d" % number * 1000, "claimed")

        with ThreadPoolExecutor(16) as pool:
            won = list(pool.map(claim, range(16)))
        assert won.count(True) == 1
        assert store.get_bytes("claimed") == b"%d" % won.index(True) * 1000

    def test_a_reader_sees_whole_objects_only(self, store: Storage) -> None:
        versions = [b"a" * 300_000, b"b" * 500_000]
        store.put_bytes(versions[0], "key")
        done = threading.Event()

        def write() -> None:
            for turn in range(60):
                store.put_bytes(versions[turn % 2], "key")
            done.set()

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            seen = set()
            while not done.is_set() and not writing.done():
                seen.add(store.get_bytes("key"))
            writing.result()
        assert seen <= set(versions)

    def test_a_listing_covers_a_folder_and_not_its_namesakes(self, store: Storage) -> None:
        for key in ("job-1/a", "job-1/b/c", "job-10/a", "job-1.txt"):
            store.put_bytes(b"xyz", key)
        assert keys(store, "job-1") == keys(store, "job-1/") == ["job-1/a", "job-1/b/c"]
        assert [found.size_bytes for found in store.list("job-1")] == [3, 3]

    def test_a_listing_is_sorted_by_key(self, store: Storage) -> None:
        expected = sorted(["a/b", "a-b", "a.b", "a/b-c", "a/b!c", "a0", "z", "a/b0/c", "Ä", "a/-"])
        for key in expected:
            store.put_bytes(b"", key)
        assert keys(store) == expected

    def test_a_listing_of_nothing_is_empty(self, store: Storage) -> None:
        assert keys(store) == keys(store, "none") == []

    def test_a_listing_tells_when_objects_changed(self, store: Storage) -> None:
        store.put_bytes(b"", "key")
        (found,) = store.list()
        assert found.modified_s > 1_600_000_000

    def test_what_another_opening_of_the_store_writes_is_seen_at_once(self, place: Place) -> None:
        ours, theirs = place.open(), place.open()
        assert not ours.exists("result.pkl")
        assert keys(ours) == []
        theirs.put_bytes(b"1", "result.pkl")
        assert ours.exists("result.pkl")
        assert keys(ours) == ["result.pkl"]
        theirs.delete_prefix("result.pkl")
        assert not ours.exists("result.pkl")
        assert keys(ours) == []

    def test_deleting_a_prefix_spares_its_namesakes(self, store: Storage) -> None:
        for key in ("job-1/a", "job-1/b/c", "job-10/a", "job-1x"):
            store.put_bytes(b"1", key)
        store.delete_prefix("job-1")
        assert keys(store) == ["job-10/a", "job-1x"]

    def test_deleting_an_object_spares_its_neighbours(self, store: Storage) -> None:
        store.put_bytes(b"1", "folder/a")
        store.put_bytes(b"1", "folder/ab")
        store.delete_prefix("folder/a")
        assert keys(store) == ["folder/ab"]

    def test_deleting_what_is_not_there_is_no_error(self, store: Storage) -> None:
        store.delete_prefix("none")
        store.put_bytes(b"1", "key")
        store.delete_prefix("none/at/all")
        store.delete_prefix("key/below")
        assert keys(store) == ["key"]

    def test_a_folder_can_be_used_again_after_its_deletion(self, store: Storage, local: Path) -> None:
        (local / "in").write_bytes(b"1")
        store.put_file(local / "in", "folder/sub/key")
        store.delete_prefix("folder")
        store.put_bytes(b"2", "folder")
        assert store.get_bytes("folder") == b"2"

    def test_a_directory_put_twice_is_one_tree(self, store: Storage, local: Path) -> None:
        for _ in range(2):
            for name in ("a", "sub/b"):
                (local / name).parent.mkdir(exist_ok=True)
                (local / name).write_bytes(b"1")
                store.put_file(local / name, f"cache/hash/{name}")
        assert keys(store) == ["cache/hash/a", "cache/hash/sub/b"]

    def test_urls_have_no_trailing_slash(self, place: Place) -> None:
        store = place.open(f"{place.url}/")
        assert store.url == place.url
        assert store.url_of("job/result.pkl") == f"{place.url}/job/result.pkl"

    def test_what_is_fetched_is_private(self, store: Storage, local: Path) -> None:
        store.put_bytes(b"1", "key")
        store.get_file("key", local / "out")
        assert stat.S_IMODE((local / "out").stat().st_mode) & 0o077 == 0
