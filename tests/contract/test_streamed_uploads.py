"""Large files that go in one stream at first, where that costs the store less; and in parts when that breaks."""

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from kinetic_core.errors import StorageError
from kinetic_fsspec.remote import STREAMED_BYTES, RemoteStorage
from kinetic_fsspec.uploads import PART_BYTES
from tests.contract.conftest import Servers, cloudy_place
from tests.contract.stores import open_store
from tests.contract.test_storage_faults import DATA, WRITES, Bench, large_file, opened
from tests.fakes.servers.proxy import Rule
from tests.fakes.servers.stores import CLOUDS

pytestmark = pytest.mark.slow

MIB: Final = 1 << 20
# As the clouds say it.
ALTERED: Final = {
    "gs": json.dumps(
        {"error": {"code": 400, "message": 'Provided CRC32C "AAA==" doesn\'t match calculated CRC32C "yZQ==".'}}
    ),
    "s3": "<?xml version='1.0'?><Error><Code>BadDigest</Code><Message>The CRC32 you specified did not match the"
    " calculated checksum.</Message></Error>",
}


@pytest.fixture(params=["gs", "s3"])
def bench(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> Bench:
    made = opened(cloudy_place(request.param, servers, tmp_path))
    made.store.streamed_bytes = STREAMED_BYTES
    return made


def in_parts(bench: Bench) -> int:
    """Return how many requests three parts are, with what puts them together, and at S3 what begins that."""
    return 3 + 1 + (bench.scheme == "s3")


def test_a_large_file_is_one_request_and_tells_of_each_megabyte(bench: Bench, tmp_path: Path) -> None:
    path, told = large_file(tmp_path), list[int]()
    bench.proxy.break_()
    bench.store.put_file(path, "job/large file?", progress=told.append)
    assert bench.proxy.count(WRITES) == len(bench.proxy.seen) == 1
    assert told == [MIB] * (path.stat().st_size // MIB)
    bench.store.get_file("job/large file?", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == path.read_bytes()
    assert [(found.key, found.size_bytes) for found in bench.store.list()] == [("job/large file?", path.stat().st_size)]


def test_large_bytes_are_one_request(bench: Bench) -> None:
    data = os.urandom(MIB) * 33 + b"and more"
    bench.proxy.break_()
    bench.store.put_bytes(data, "job/large")
    assert bench.proxy.count(WRITES) == 1
    assert bench.store.get_bytes("job/large") == data


@pytest.mark.parametrize("fault", ["status", "reset", "reset_mid_request", "lost_reply", "altered_request"])
def test_a_stream_that_breaks_goes_on_in_parts(bench: Bench, fault: Any, tmp_path: Path) -> None:
    path, told = large_file(tmp_path), list[int]()
    bench.proxy.break_(Rule(fault=fault, method=WRITES))
    bench.store.put_file(path, "job/large", progress=told.append)
    # The stream, and then parts.
    assert bench.proxy.count(WRITES) == 1 + in_parts(bench)
    assert sum(told) == path.stat().st_size
    assert bench.log.events("info") == ["storage_request_repeated"]
    bench.store.get_file("job/large", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == path.read_bytes()
    assert [one.key for one in bench.store.bucket.page("", "")[0]] == ["job/large"]


def test_a_stream_that_is_refused_is_told_at_once(bench: Bench, tmp_path: Path) -> None:
    bench.proxy.break_(Rule(fault="status", status=403, method=WRITES))
    with pytest.raises(StorageError, match=r"cannot write .*job/large"):
        bench.store.put_file(large_file(tmp_path), "job/large")
    assert bench.proxy.count(WRITES) == 1
    assert bench.store.bucket.page("", "") == ([], "")


@pytest.mark.parametrize("fault", ["deaf", "mute"])
def test_a_stream_of_which_the_peer_takes_no_more_is_given_up(
    bench: Bench, fault: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_fsspec.loops.STALLED_S", 1.0)
    monkeypatch.setattr("kinetic_fsspec.loops.SLOWEST", 32 << 20)
    path, told = large_file(tmp_path), list[int]()
    bench.proxy.break_(Rule(fault=fault, method=WRITES))
    bench.store.put_file(path, "job/large", progress=told.append)
    assert bench.proxy.count(WRITES) == 1 + in_parts(bench)
    assert sum(told) == path.stat().st_size
    bench.store.get_file("job/large", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == path.read_bytes()


def test_a_file_above_the_limit_goes_in_parts(bench: Bench, tmp_path: Path) -> None:
    path = large_file(tmp_path)
    bench.store.streamed_bytes = path.stat().st_size - 1
    bench.proxy.break_()
    bench.store.put_file(path, "job/large")
    assert bench.proxy.count(WRITES) == in_parts(bench)


def test_what_the_store_says_was_altered_is_sent_again(bench: Bench, tmp_path: Path) -> None:
    path = large_file(tmp_path)
    for put in (
        lambda: bench.store.put_bytes(DATA, "job/key"),
        lambda: bench.store.put_if_absent(DATA, "job/new"),
        lambda: bench.store.put_file(path, "job/large"),
    ):
        bench.proxy.break_(Rule(fault="status", status=400, text=ALTERED[bench.scheme], method=WRITES))
        put()
    assert len(list(bench.store.list())) == 3
    assert bench.log.events("info") == ["storage_request_repeated"] * 3


def test_a_store_that_is_said_to_know_no_crc32_is_told_the_md5(servers: Servers, tmp_path: Path) -> None:
    place, path = cloudy_place("s3", servers, tmp_path), large_file(tmp_path)
    assert place.proxy is not None
    options = CLOUDS["s3"].options_here(place.proxy.address)
    for said, kept in (("when_supported", True), ("when_required", False)):
        config = {"config_kwargs": {"request_checksum_calculation": said}}
        store = open_store(place.url, tmp_path, options | config)
        assert isinstance(store, RemoteStorage)
        place.proxy.break_()
        store.put_file(path, "job/large")
        assert place.proxy.count(WRITES) == 1
        head = store.bucket._call("head_object", "job/large", ChecksumMode="ENABLED")  # type: ignore[attr-defined]
        assert ("ChecksumCRC32" in head) is kept
        store.get_file("job/large", tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("streamed_bytes", [0, STREAMED_BYTES], ids=["parts", "stream"])
def test_a_file_that_becomes_shorter_meanwhile_is_told_at_once(
    bench: Bench, streamed_bytes: int, tmp_path: Path
) -> None:
    bench.store.streamed_bytes = streamed_bytes
    path = large_file(tmp_path)
    # More parts than are sent at once.
    os.truncate(path, 6 * PART_BYTES)
    with pytest.raises(StorageError, match=r"cannot read the local file .*/large: it became shorter"):
        bench.store.put_file(path, "job/large", progress=lambda _: os.truncate(path, MIB))
    assert bench.pauses == []
    assert bench.store.bucket.page("", "") == ([], "")


def test_of_a_file_that_grows_meanwhile_is_sent_what_it_was(bench: Bench, tmp_path: Path) -> None:
    path = large_file(tmp_path)
    before = path.read_bytes()

    def grow(_moved: int) -> None:
        with path.open("ab") as stream:
            stream.write(b"more")

    bench.proxy.break_()
    bench.store.put_file(path, "job/large", progress=grow)
    assert bench.proxy.count(WRITES) == 1
    assert bench.store.get_bytes("job/large") == before
