"""What every store promises, asked of each that ships, and what ours say besides."""

import multiprocessing
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from kinetic.testing import StorageContract
from kinetic_core.errors import StorageError
from tests.contract.conftest import Place
from tests.contract.stores import open_store
from tests.fakes.servers.stores import CLOUDS

if TYPE_CHECKING:
    from kinetic_core.plugin import ReportingStorage

UNNAMEABLE = {
    "s3": {"new\nline": "moto finds no bucket for such a name"},
    "gs": {"new\nline": "Cloud Storage takes no line ends in names"},
    "abfs": {"new\nline": "azurite finds no blob of such a name", "back\\slash": "azurite lists a slash instead"},
}


class TestStores(StorageContract):
    @pytest.fixture
    def place(self, place: Place) -> Place:
        return place

    @pytest.fixture
    def unnameable(self, place: Place) -> Mapping[str, str]:
        return UNNAMEABLE.get(place.scheme, {})


@pytest.mark.parametrize("key", ["", "a//b", "a/../b"])
def test_a_refused_key_is_named_with_its_store(place: Place, key: str, tmp_path: Path) -> None:
    store = place.open()
    for refused in (store.get_bytes, store.exists, store.delete_prefix):
        with pytest.raises(StorageError, match="is no key of the store"):
            refused(key)
    with pytest.raises(StorageError, match="is no key of the store"):
        store.get_file(key, tmp_path / "out")


def test_a_local_file_is_told_from_the_store(place: Place, tmp_path: Path) -> None:
    store = place.open()
    with pytest.raises(StorageError, match="cannot read the local file"):
        store.put_file(tmp_path / "none", "key")
    # Opened like a file, it waits for whoever writes to it.
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(StorageError, match=r"cannot read the local file .*/fifo: it is no regular file"):
        store.put_file(tmp_path / "fifo", "key")
    store.put_bytes(b"1", "key")
    (tmp_path / "out").mkdir()
    for target in (tmp_path / "out", tmp_path / "none" / "out"):
        with pytest.raises(StorageError, match="cannot write the local file"):
            store.get_file("key", target)


def test_a_name_that_looks_unfinished_is_refused(place: Place) -> None:
    with pytest.raises(StorageError, match="kinetic-part-"):
        place.open().put_bytes(b"", "folder/.kinetic-part-1")


@pytest.mark.parametrize("size_bytes", [0, 1, 9_000_000])
def test_what_is_told_of_a_file_adds_up_to_its_size(place: Place, tmp_path: Path, size_bytes: int) -> None:
    (tmp_path / "in").write_bytes(b"x" * size_bytes)
    sent, received = list[int](), list[int]()
    reporting = cast("ReportingStorage", place.open())
    reporting.put_file(tmp_path / "in", "job/context.zip", progress=sent.append)
    reporting.get_file("job/context.zip", tmp_path / "out", progress=received.append)
    assert (sum(sent), sum(received)) == (size_bytes, size_bytes)
    if size_bytes > 1 << 20:
        assert len(received) > 1


def _claim(url: str, options: dict[str, Any] | None, number: int, rounds: int) -> list[bool]:
    store = open_store(url, Path("/"), options)
    return [store.put_if_absent(b"%d" % number, f"round/{turn}") for turn in range(rounds)]


def test_one_of_many_processes_wins_put_if_absent(place: Place) -> None:
    if place.scheme == "memory":
        pytest.skip("no two processes share it")
    store, rounds = place.open(), 20
    options = None if place.proxy is None else CLOUDS[place.scheme].options(place.proxy.address)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        won = pool.starmap(_claim, [(place.url, options, number, rounds) for number in range(3)])
    winners = [[number for number in range(3) if won[number][turn]] for turn in range(rounds)]
    assert [len(of_turn) for of_turn in winners] == [1] * rounds, winners
    for turn in range(rounds):
        assert won[int(store.get_bytes(f"round/{turn}"))][turn]
    assert [found.key for found in store.list()] == sorted(f"round/{turn}" for turn in range(rounds))
