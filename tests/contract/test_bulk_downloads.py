"""Data of many small objects, and of long ones, on its way to the pod: few requests, and only what failed again."""

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

import fsspec.config
import pytest

from kinetic_core.wire.digest import sha256_of_file
from kinetic_core.wire.reference import Reference
from kinetic_fsspec.remote import STREAMED_BYTES, RemoteStorage
from kinetic_runner import drivers
from kinetic_runner.bulk import _CALL_PIECES, _PIECE_BYTES
from kinetic_runner.objects import RemoteData
from tests.contract.conftest import Servers, cloudy_place
from tests.contract.stores import CLOUDY
from tests.contract.test_pod_stores import Pod
from tests.fakes.full_disk import full_disk
from tests.fakes.servers.proxy import Rule
from tests.fakes.servers.stores import CLOUDS
from tests.unit.kinetic_runner.journal import Journal

pytestmark = pytest.mark.slow

# More than one call gets.
FILES: Final = _CALL_PIECES + 40
PIECES: Final = 3
PAYLOAD: Final = "alt=media|/long|/[0-9]{3}"


@pytest.fixture(params=CLOUDY)
def pod(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    place = cloudy_place(request.param, servers, tmp_path)
    assert place.proxy is not None
    monkeypatch.setitem(fsspec.config.conf, place.scheme, CLOUDS[place.scheme].options_here(place.proxy.address))
    monkeypatch.setattr("kinetic_runner.retry._DELAYS_S", (0.0, 0.0, 0.0, 0.0))
    drivers._system.cache_clear()
    return Pod(place=place, journal=Journal())


def put_small(pod: Pod, folder: Path) -> dict[str, bytes]:
    contents = {f"{number:03}": str(number).encode() * (number % 7) for number in range(FILES)}
    contents["a*[b]?"] = b"odd"
    store = pod.place.open()
    assert isinstance(store, RemoteStorage)
    folder.mkdir()
    for number, data in enumerate(contents.values()):
        (folder / str(number)).write_bytes(data)
    store.put_files({f"job/set/{name}": folder / str(number) for number, name in enumerate(contents)})
    return contents


def put_long(pod: Pod, *, streamed_bytes: int = STREAMED_BYTES) -> bytes:
    data = os.urandom(1 << 20) * (_PIECE_BYTES // (1 << 20) * (PIECES - 1)) + b"the end"
    store = pod.place.open()
    assert isinstance(store, RemoteStorage)
    store.streamed_bytes = streamed_bytes
    store.put_bytes(data, "job/set/long")
    return data


def found_at(pod: Pod, name: str, **more: Any) -> RemoteData:
    url = f"{pod.place.url}/job/{name}"
    return RemoteData.find(Reference(uri=url, is_dir=url.endswith("/"), **more), pod.journal)


def read(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_each_small_object_is_one_request(pod: Pod, tmp_path: Path) -> None:
    contents, proxy = put_small(pod, tmp_path / "in"), pod.place.proxy
    assert proxy is not None
    found = found_at(pod, "set/", content_sha256="0" * 64)
    proxy.break_()
    digests = found.download(tmp_path / "out", log=pod.journal)
    assert read(tmp_path / "out") == contents
    assert digests == {name: sha256_of_file(tmp_path / "out" / name) for name in contents}
    # Of one that is empty nothing is asked at all.
    assert len(proxy.seen) == sum(1 for data in contents.values() if data)
    assert not [one.name for one in threading.enumerate() if one.name.startswith("kinetic-fetch")]


@pytest.mark.parametrize("fault", ["status", "reset", "truncated"])
def test_only_what_failed_is_asked_for_again(pod: Pod, fault: Any, tmp_path: Path) -> None:
    contents, proxy = put_small(pod, tmp_path / "in"), pod.place.proxy
    assert proxy is not None
    found = found_at(pod, "set/")
    proxy.break_(Rule(fault=fault, method="GET", skip=10, times=2))
    found.download(tmp_path / "out", log=pod.journal)
    assert read(tmp_path / "out") == contents
    # On a connection that was used before, or where an answer was cut, some libraries ask once more by themselves.
    assert len(proxy.seen) <= sum(1 for data in contents.values() if data) + 3


@pytest.mark.parametrize("fault", ["status", "reset", "truncated", "altered"])
def test_a_long_object_comes_in_pieces_and_only_one_that_failed_again(pod: Pod, fault: Any, tmp_path: Path) -> None:
    if (pod.place.scheme, fault) == ("abfs", "altered"):
        pytest.skip("Azure keeps no checksum of what was put together; of what we put there, SHA-256 is compared")
    data, proxy = put_long(pod), pod.place.proxy
    assert proxy is not None
    found = found_at(pod, "set/long")
    proxy.break_(Rule(fault=fault, method="GET", skip=1))
    found.download(tmp_path / "long", log=pod.journal)
    assert (tmp_path / "long").read_bytes() == data
    if fault != "altered":
        assert PIECES <= proxy.count("GET", PAYLOAD) <= PIECES + 2
    assert pod.place.scheme == "abfs" or len(pod.journal.warnings) <= 1


def test_what_stays_broken_is_told_and_leaves_no_file(pod: Pod, tmp_path: Path) -> None:
    put_long(pod)
    found = found_at(pod, "set/long")
    assert pod.place.proxy is not None
    pod.place.proxy.break_(Rule(fault="status", method="GET", skip=1, times=99))
    with pytest.raises(OSError, match=r"download of .*/job/set/long failed \(after 5 attempts\)"):
        found.download(tmp_path / "out/long", log=pod.journal)
    assert read(tmp_path) == {}
    assert not [one.name for one in threading.enumerate() if one.name.startswith("kinetic-fetch")]


def test_a_refusal_is_told_at_once(pod: Pod, tmp_path: Path) -> None:
    put_small(pod, tmp_path / "in")
    found = found_at(pod, "set/")
    assert pod.place.proxy is not None
    pod.place.proxy.break_(Rule(fault="status", status=403, method="GET", times=9999))
    with pytest.raises(Exception, match=r"."):
        found.download(tmp_path / "out", log=pod.journal)
    assert pod.journal.warnings == []


def test_an_object_that_is_replaced_meanwhile_is_read_anew(pod: Pod, tmp_path: Path) -> None:
    first = put_long(pod, streamed_bytes=0)
    found = found_at(pod, "set/long")
    second = put_long(pod, streamed_bytes=0)
    found.download(tmp_path / "long", log=pod.journal)
    assert first != second
    assert (tmp_path / "long").read_bytes() == second


def test_a_full_disk_is_told_and_leaves_no_part(pod: Pod, tmp_path: Path) -> None:
    put_long(pod)
    found = found_at(pod, "set/")
    with full_disk(20 << 20), pytest.raises(OSError, match="File too large"):
        found.download(tmp_path / "out", log=pod.journal)
    assert read(tmp_path) == {}


def test_an_object_that_cloud_storage_keeps_compressed_comes_as_it_was(pod: Pod, tmp_path: Path) -> None:
    if pod.place.scheme != "gs":
        pytest.skip("only Cloud Storage hands out other bytes than it keeps")
    data = b"text that shrinks" * 1000
    put_encoded(pod, "job/set/text", data)
    pod.place.open().put_bytes(b"plain", "job/set/plain")
    found_at(pod, "set/text").download(tmp_path / "text", log=pod.journal)
    assert (tmp_path / "text").read_bytes() == data
    found_at(pod, "set/").download(tmp_path / "set", log=pod.journal)
    assert read(tmp_path / "set") == {"text": data, "plain": b"plain"}
    assert pod.journal.warnings == []


def put_encoded(pod: Pod, key: str, data: bytes) -> None:
    assert pod.place.proxy is not None
    bucket, _, folder = pod.place.url.removeprefix("gs://").partition("/")
    told = json.dumps({"name": f"{folder}/{key}", "contentEncoding": "gzip"}).encode()
    body = b"--x\r\nContent-Type: application/json\r\n\r\n%b\r\n--x\r\nContent-Type: text/plain\r\n\r\n%b\r\n--x--\r\n"
    asked = Request(
        f"{pod.place.proxy.address}/upload/storage/v1/b/{bucket}/o?uploadType=multipart",
        data=body % (told, gzip.compress(data)),
        headers={"Content-Type": 'multipart/related; boundary="x"'},
    )
    with urlopen(asked) as reply:
        reply.read()
