"""Many small files in one call: each as whole, as checked and as often tried again as if it went alone."""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from kinetic_core.errors import StorageError
from kinetic_fsspec.small import SMALL_BYTES
from tests.contract.conftest import Servers, cloudy_place
from tests.contract.stores import CLOUDY
from tests.contract.test_storage_faults import ATTEMPTS, LASTING, TRANSIENT, WRITES, Bench, opened
from tests.fakes.servers.proxy import Rule

pytestmark = pytest.mark.slow

FILES: Final = 30
AT_ONCE: Final = 8


@pytest.fixture(params=CLOUDY)
def bench(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> Bench:
    return opened(cloudy_place(request.param, servers, tmp_path))


@pytest.fixture
def files(tmp_path: Path) -> Mapping[str, Path]:
    paths = {f"job/{number:02}": tmp_path / f"in-{number}" for number in range(FILES)}
    for key, path in paths.items():
        path.write_bytes(key.encode() * 100)
    return paths


def held(bench: Bench) -> dict[str, bytes]:
    bench.proxy.break_()
    return {found.key: bench.store.get_bytes(found.key) for found in bench.store.list()}


def contents(files: Mapping[str, Path]) -> dict[str, bytes]:
    return {key: path.read_bytes() for key, path in files.items()}


def test_each_small_file_is_one_request_and_larger_ones_are_left(bench: Bench, files: dict[str, Path]) -> None:
    (files["job/00"]).write_bytes(b"")
    (files["job/01"]).write_bytes(b"x" * SMALL_BYTES)
    (files["job/02"]).write_bytes(b"x" * (SMALL_BYTES + 1))
    told = list[int]()
    bench.proxy.break_()
    assert list(bench.store.put_files(files, progress=told.append)) == ["job/02"]
    assert len(bench.proxy.seen) == FILES - 1
    # Each would be a round trip more.
    assert bench.proxy.asking == []
    del files["job/02"]
    assert sorted(told) == sorted(len(data) for data in contents(files).values())
    assert held(bench) == contents(files)


@pytest.mark.parametrize("fault", ["status", "reset", "reset_mid_request", "lost_reply", "altered_request"])
def test_what_may_pass_is_tried_again_and_the_others_go_on(bench: Bench, files: dict[str, Path], fault: Any) -> None:
    told = list[int]()
    bench.proxy.break_(Rule(fault=fault, method=WRITES, skip=3, times=2))
    assert not bench.store.put_files(files, progress=told.append)
    assert held(bench) == contents(files)
    assert sum(told) == sum(map(len, contents(files).values()))
    # On a connection that was used before, some libraries send once more by themselves.
    assert len(bench.pauses) == 2 or (len(bench.pauses) < 2 and fault in ("reset", "reset_mid_request", "lost_reply"))


def test_one_that_stays_broken_is_tried_as_often_as_alone(bench: Bench, files: dict[str, Path]) -> None:
    bench.proxy.break_(Rule(fault="status", method=WRITES, path="job(/|%2F)07", times=99))
    with pytest.raises(StorageError, match=rf"cannot write .*/job/07 \(after {ATTEMPTS} attempts\)"):
        bench.store.put_files(files)
    assert bench.proxy.count(WRITES, "job(/|%2F)07") == ATTEMPTS


@pytest.mark.parametrize("status", TRANSIENT)
def test_each_status_that_may_pass_is_one_that_is_tried_again(
    bench: Bench, files: dict[str, Path], status: int
) -> None:
    bench.proxy.break_(Rule(fault="status", status=status, method=WRITES, skip=3, times=2))
    assert not bench.store.put_files(files)
    assert held(bench) == contents(files)
    assert len(bench.pauses) == 2


@pytest.mark.parametrize("status", LASTING)
def test_none_is_begun_after_a_refusal(bench: Bench, files: dict[str, Path], status: int) -> None:
    bench.proxy.break_(Rule(fault="status", status=status, method=WRITES, skip=2, times=99))
    with pytest.raises(StorageError, match=r"cannot write .*/job/\d\d: "):
        bench.store.put_files(files)
    assert bench.pauses == []
    assert bench.proxy.count(WRITES) <= 2 + AT_ONCE


def test_a_file_that_cannot_be_read_is_told(bench: Bench, files: dict[str, Path], tmp_path: Path) -> None:
    files["job/05"] = tmp_path / "none"
    with pytest.raises(StorageError, match=r"cannot read the local file .*none"):
        bench.store.put_files(files)


def test_a_key_that_is_no_name_is_refused_before_anything_is_sent(bench: Bench, files: dict[str, Path]) -> None:
    files["job/../up"] = files["job/00"]
    bench.proxy.break_()
    with pytest.raises(StorageError, match="is no key of the store"):
        bench.store.put_files(files)
    assert bench.proxy.seen == []


def test_what_is_under_way_is_done_when_the_call_raises(bench: Bench, files: dict[str, Path]) -> None:
    class StopError(Exception):
        pass

    def stop(_moved: int) -> None:
        raise StopError

    with pytest.raises(StopError):
        bench.store.put_files(files, progress=stop)
    written = held(bench)
    assert 0 < len(written) <= AT_ONCE
    assert held(bench) == written
    assert not [one.name for one in threading.enumerate() if one.name.startswith(("kinetic-put", "kinetic-look"))]


@pytest.mark.parametrize("fault", ["deaf", "mute"])
def test_a_peer_that_says_nothing_is_given_up(
    bench: Bench, files: dict[str, Path], fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_fsspec.loops.STALLED_S", 3.0)
    bench.proxy.break_(Rule(fault=fault, method=WRITES, skip=3, times=1))
    assert not bench.store.put_files(files)
    assert held(bench) == contents(files)
    assert len(bench.pauses) == 1


def test_what_took_a_files_place_is_told_and_nobody_waits_for_it(
    bench: Bench, files: dict[str, Path], tmp_path: Path
) -> None:
    # Opened like a file, it waits for whoever writes to it; and who waits is the loop, for all.
    os.mkfifo(tmp_path / "fifo")
    files["job/05"] = tmp_path / "fifo"
    with pytest.raises(StorageError, match=r"cannot read the local file .*/fifo: it is no regular file"):
        bench.store.put_files(files)
