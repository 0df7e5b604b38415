"""What goes wrong between a client and its store, and what the caller sees of it."""

import importlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from kinetic.testing.log import RecordingLog
from kinetic_core.errors import ObjectNotFoundError, StorageError
from kinetic_core.plugin import DriverContext
from kinetic_fsspec.opening import open_azure, open_gcs, open_s3
from kinetic_fsspec.remote import WHOLE_BYTES, RemoteStorage
from kinetic_fsspec.retries import Policy
from tests.contract.conftest import Place, Servers, cloudy_place
from tests.contract.stores import CLOUDY
from tests.fakes.servers.proxy import Proxy, Rule
from tests.fakes.servers.stores import CLOUDS, SECRET

# On one Python only: what differs between them is not here.
pytestmark = pytest.mark.slow

OPENERS: Final = {"gs": open_gcs, "s3": open_s3, "abfs": open_azure}
DATA: Final = bytes(range(256)) * 1000
WRITES: Final = "PUT|POST"
READS: Final = "GET|HEAD"
DELETES: Final = "DELETE|POST"
ATTEMPTS: Final = 4
TRANSIENT: Final = (408, 429, 500, 503)
LASTING: Final = (400, 401, 403)


@attrs.frozen(kw_only=True)
class Bench:
    """A store behind a proxy, whose pauses are noted and not made."""

    scheme: str
    store: RemoteStorage
    proxy: Proxy
    log: RecordingLog
    pauses: list[float]


@pytest.fixture(params=CLOUDY)
def bench(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> Bench:
    place = cloudy_place(request.param, servers, tmp_path)
    return opened(place)


def opened(place: Place, **policy: Any) -> Bench:
    assert place.proxy is not None
    log, pauses = RecordingLog(), list[float]()
    options = {place.scheme: CLOUDS[place.scheme].options_here(place.proxy.address)}
    context = DriverContext(log=log, environ={}, home=place.home, storage_options=options)
    how = Policy(**{"attempts": ATTEMPTS, "sleep": pauses.append, **policy})
    store = OPENERS[place.scheme](place.url, context, how)
    # Here all large files go in parts; what goes in one stream at first is in test_streamed_uploads.py.
    store.streamed_bytes = 0
    return Bench(scheme=place.scheme, store=store, proxy=place.proxy, log=log, pauses=pauses)


def put_bytes(store: RemoteStorage, _: Path) -> object:
    store.put_bytes(DATA, "job/key")
    return store.get_bytes("job/key") == DATA


def put_file(store: RemoteStorage, folder: Path) -> object:
    (folder / "in").write_bytes(DATA)
    store.put_file(folder / "in", "job/key")
    return store.get_bytes("job/key") == DATA


def put_if_absent(store: RemoteStorage, _: Path) -> object:
    return store.put_if_absent(DATA, "job/new") and store.get_bytes("job/new") == DATA


def get_bytes(store: RemoteStorage, _: Path) -> object:
    return store.get_bytes("job/there") == DATA


def get_file(store: RemoteStorage, folder: Path) -> object:
    store.get_file("job/there", folder / "out")
    return (folder / "out").read_bytes() == DATA


def look_up(store: RemoteStorage, _: Path) -> object:
    return store.exists("job/there")


def list_(store: RemoteStorage, _: Path) -> object:
    return [found.key for found in store.list("job")] == ["job/there"]


def delete(store: RemoteStorage, _: Path) -> object:
    store.delete_prefix("job/there")
    return not store.exists("job/there")


Verb = Callable[[RemoteStorage, Path], object]
VERBS: Final[dict[Verb, str]] = {
    put_bytes: WRITES,
    put_file: WRITES,
    put_if_absent: WRITES,
    get_bytes: READS,
    get_file: READS,
    look_up: READS,
    list_: READS,
    delete: DELETES,
}
VERB_NAMES: Final[dict[Verb, str]] = {
    put_bytes: "write",
    put_file: "write",
    put_if_absent: "write",
    look_up: "look up",
    list_: "list",
}


def named(value: object) -> str | None:
    return getattr(value, "__name__", None)


@pytest.mark.parametrize("status", TRANSIENT)
@pytest.mark.parametrize("verb", VERBS, ids=named)
def test_what_may_pass_is_tried_again(bench: Bench, verb: Verb, status: int, tmp_path: Path) -> None:
    bench.store.put_bytes(DATA, "job/there")
    bench.proxy.break_(Rule(fault="status", status=status, method=VERBS[verb], times=2))
    assert verb(bench.store, tmp_path)
    assert bench.log.events("info") == ["storage_request_repeated"] * 2
    assert len(bench.pauses) == 2


@pytest.mark.parametrize("status", LASTING)
@pytest.mark.parametrize("verb", VERBS, ids=named)
def test_a_refusal_is_told_at_once(bench: Bench, verb: Verb, status: int, tmp_path: Path) -> None:
    bench.store.put_bytes(DATA, "job/there")
    bench.proxy.break_(Rule(fault="status", status=status, method=VERBS[verb], times=99))
    with pytest.raises(StorageError, match="job") as refused:
        verb(bench.store, tmp_path)
    assert not isinstance(refused.value, ObjectNotFoundError)
    assert bench.pauses == []
    # S3's own client looks for the bucket's region when a look-up is refused so.
    assert bench.proxy.count(VERBS[verb]) <= 1 + (
        bench.scheme == "s3" and verb in {look_up, get_bytes, get_file, list_}
    )


@pytest.mark.parametrize("verb", VERBS, ids=named)
def test_what_stays_broken_is_told_with_verb_object_and_attempts(bench: Bench, verb: Verb, tmp_path: Path) -> None:
    bench.store.put_bytes(DATA, "job/there")
    bench.proxy.break_(Rule(fault="status", method=VERBS[verb], times=99))
    verb_name = VERB_NAMES.get(verb, "delete" if verb is delete else "read")
    with pytest.raises(
        StorageError, match=rf"cannot {verb_name} {bench.store.url}/job.* \(after {ATTEMPTS} attempts\)"
    ):
        verb(bench.store, tmp_path)
    # The client's own tries do not multiply with ours.
    assert bench.proxy.count(VERBS[verb]) == ATTEMPTS
    first, second, third = bench.pauses
    assert 0.5 <= first <= 0.75
    assert 1 <= second <= 1.5
    assert 2 <= third <= 3
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", VERBS, ids=named)
def test_a_connection_that_is_reset_is_made_again(bench: Bench, verb: Verb, tmp_path: Path) -> None:
    bench.store.put_bytes(DATA, "job/there")
    bench.proxy.break_(Rule(fault="reset", method=VERBS[verb], times=2))
    assert verb(bench.store, tmp_path)


@pytest.mark.parametrize("fault", ["reset_mid_request", "lost_reply", "altered_request"])
@pytest.mark.parametrize("verb", [put_bytes, put_file, put_if_absent], ids=named)
def test_what_does_not_arrive_whole_is_sent_again(bench: Bench, verb: Verb, fault: Any, tmp_path: Path) -> None:
    bench.proxy.break_(Rule(fault=fault, method=WRITES, times=2))
    assert verb(bench.store, tmp_path)
    assert bench.proxy.count(WRITES) == 3
    assert [found.key.partition("/")[0] for found in bench.store.list()] == ["job"]


@pytest.mark.parametrize("fault", ["truncated", "altered"])
@pytest.mark.parametrize("verb", [get_bytes, get_file], ids=named)
def test_what_does_not_come_whole_is_read_again(bench: Bench, verb: Verb, fault: Any, tmp_path: Path) -> None:
    bench.store.put_bytes(DATA, "job/there")
    bench.proxy.break_(Rule(fault=fault, method="GET", times=2))
    assert verb(bench.store, tmp_path)
    assert bench.proxy.count("GET") == 3


def test_damaged_bytes_never_reach_the_caller(bench: Bench, tmp_path: Path) -> None:
    bench.store.put_bytes(DATA, "job/there")
    bench.proxy.break_(Rule(fault="altered", method="GET", times=99))
    with pytest.raises(StorageError, match=r"after 4 attempts"):
        bench.store.get_file("job/there", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_listing_that_is_cut_is_asked_for_again(bench: Bench, tmp_path: Path) -> None:
    bench.store.put_bytes(DATA, "job/there")
    bench.proxy.break_(Rule(fault="truncated", method="GET", times=2))
    assert list_(bench.store, tmp_path)


def test_a_deletion_whose_answer_is_lost_is_done(bench: Bench, tmp_path: Path) -> None:
    bench.store.put_bytes(DATA, "job/there")
    bench.proxy.break_(Rule(fault="lost_reply", method=DELETES, times=2))
    assert delete(bench.store, tmp_path)


def test_what_another_created_first_is_theirs_also_after_a_failure(bench: Bench) -> None:
    bench.store.put_bytes(DATA, "job/new")
    bench.proxy.break_(Rule(fault="status", method=WRITES, times=1))
    assert bench.store.put_if_absent(DATA, "job/new") is False


@pytest.mark.parametrize("verb", VERBS, ids=named)
def test_an_absence_is_never_asked_about_again(bench: Bench, verb: Verb, tmp_path: Path) -> None:
    bench.store.put_bytes(DATA, "job/there")
    bench.proxy.break_(Rule(fault="status", status=404, method=VERBS[verb], times=99))
    with suppress(StorageError):
        verb(bench.store, tmp_path)
    assert bench.pauses == []


def test_a_claim_whose_answer_was_lost_on_a_used_connection_is_ours(bench: Bench) -> None:
    # Where a connection was used before, the client below sends once more by itself, and meets its own object.
    assert not bench.store.exists("job/new")
    bench.proxy.break_(Rule(fault="lost_reply", method=WRITES, times=1))
    assert bench.store.put_if_absent(DATA, "job/new") is True
    bench.proxy.break_()
    assert bench.store.put_if_absent(DATA, "job/new") is False


def test_an_absent_object_is_asked_for_once(bench: Bench) -> None:
    bench.proxy.break_()
    with pytest.raises(ObjectNotFoundError):
        bench.store.get_bytes("job/none")
    assert not bench.store.exists("job/none")
    assert bench.pauses == []
    assert len(bench.proxy.seen) == 2


def test_an_absent_bucket_is_told_when_writing_and_listing(bench: Bench, servers: Servers, tmp_path: Path) -> None:
    place = Place(scheme=bench.scheme, url=f"{bench.scheme}://no-such-bucket/x", home=tmp_path, proxy=bench.proxy)
    store = opened(place).store
    with pytest.raises(StorageError, match="no such bucket"):
        store.put_bytes(b"1", "key")
    with pytest.raises(StorageError, match="no such bucket"):
        list(store.list())


def test_small_operations_cost_one_request(bench: Bench) -> None:
    for act in (
        lambda: bench.store.put_bytes(DATA, "key"),
        lambda: bench.store.put_if_absent(DATA, "new"),
        lambda: bench.store.get_bytes("key"),
        lambda: bench.store.exists("key"),
        lambda: list(bench.store.list()),
    ):
        bench.proxy.break_()
        act()
        assert len(bench.proxy.seen) == 1, bench.proxy.seen


def test_no_attempt_begins_after_the_time_is_up(
    servers: Servers, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench = opened(cloudy_place("gs", servers, tmp_path), total_s=0.1, attempts=99)
    bench.proxy.break_(Rule(fault="status", times=99))
    with pytest.raises(StorageError, match="cannot write"):
        bench.store.put_bytes(b"1", "key")
    assert len(bench.proxy.seen) == 1


QUICK_S: Final = 1.0


@pytest.fixture(params=CLOUDY)
def impatient(
    request: pytest.FixtureRequest, servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Bench:
    """Open a store that waits for no peer longer than a second, and holds an object."""
    place = cloudy_place(request.param, servers, tmp_path)
    place.open().put_bytes(DATA, "job/there")
    for module in ("opening", "loops"):
        monkeypatch.setattr(f"kinetic_fsspec.{module}.STALLED_S", QUICK_S)
    monkeypatch.setattr("kinetic_fsspec.loops.SLOWEST", 32 << 20)
    if request.param == "abfs":
        pytest.importorskip("adlfs")
        monkeypatch.setitem(importlib.import_module("kinetic_fsspec.azure")._ONE_TRY, "read_timeout", QUICK_S)
    return opened(place, attempts=2)


@pytest.mark.parametrize("fault", ["deaf", "mute"])
@pytest.mark.parametrize("verb", VERBS, ids=named)
def test_a_peer_that_accepts_and_says_nothing_is_given_up(
    impatient: Bench, verb: Verb, fault: Any, tmp_path: Path
) -> None:
    impatient.proxy.break_(Rule(fault=fault, method=VERBS[verb], times=99))
    verb_name = VERB_NAMES.get(verb, "delete" if verb is delete else "read")
    said = rf"cannot {verb_name} {impatient.store.url}/job.* \(after 2 attempts\): .*([Tt]imeout|timed out)"
    with pytest.raises(StorageError, match=said):
        verb(impatient.store, tmp_path)
    assert len(impatient.pauses) == 1


@pytest.mark.parametrize("fault", ["deaf", "mute"])
def test_a_peer_that_takes_no_more_of_a_large_file_is_given_up(impatient: Bench, fault: Any, tmp_path: Path) -> None:
    path = large_file(tmp_path)
    impatient.proxy.break_(Rule(fault=fault, method=WRITES, skip=1, times=99))
    with pytest.raises(StorageError, match=r"cannot write .*job/large \(after 2 attempts\): .*([Tt]imeout|timed out)"):
        impatient.store.put_file(path, "job/large")
    impatient.proxy.break_()
    assert impatient.store.exists("job/large") is False


def large_file(folder: Path) -> Path:
    path = folder / "large"
    path.write_bytes(os.urandom(1 << 20) * (WHOLE_BYTES // (1 << 20) + 3))
    return path


def test_a_large_file_goes_in_parts_and_only_a_failed_part_goes_again(bench: Bench, tmp_path: Path) -> None:
    path = large_file(tmp_path)
    bench.proxy.break_(
        Rule(fault="status", method=WRITES, skip=1, times=1), Rule(fault="lost_reply", method=WRITES, skip=2, times=1)
    )
    bench.store.put_file(path, "job/large")
    # Three parts, two of them twice, and what begins and ends an upload.
    assert bench.proxy.count(WRITES) <= 3 + 2 + 2
    bench.store.get_file("job/large", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == path.read_bytes()
    assert [(found.key, found.size_bytes) for found in bench.store.list()] == [("job/large", path.stat().st_size)]
    assert [one.key for one in bench.store.bucket.page("", "")[0]] == ["job/large"]


def test_a_large_file_that_fails_leaves_no_object_and_no_part(bench: Bench, tmp_path: Path) -> None:
    bench.proxy.break_(Rule(fault="status", status=403, method=WRITES, skip=3, times=1))
    with pytest.raises(StorageError, match=r"cannot write .*job/large"):
        bench.store.put_file(large_file(tmp_path), "job/large")
    assert bench.store.bucket.page("", "") == ([], "")


def test_what_moves_twice_is_taken_back_between(bench: Bench, tmp_path: Path) -> None:
    path, told = large_file(tmp_path), list[int]()
    bench.proxy.break_(Rule(fault="status", method=WRITES, skip=1, times=1))
    bench.store.put_file(path, "job/large", progress=told.append)
    assert len(told) == 3
    assert sum(told) == path.stat().st_size
    told.clear()
    bench.proxy.break_(Rule(fault="truncated", method="GET", times=1))
    bench.store.get_file("job/large", tmp_path / "out", progress=told.append)
    # Azure's library goes on by itself where an answer was cut.
    assert bench.scheme == "abfs" or min(told) < 0
    assert sum(told) == path.stat().st_size


def test_parts_that_went_away_are_sent_again(bench: Bench, tmp_path: Path) -> None:
    path = large_file(tmp_path)
    ends = {"gs": "compose", "s3": r"uploadId=", "abfs": "comp=blocklist"}[bench.scheme]
    method = "PUT" if bench.scheme == "abfs" else "POST"
    gone = (
        {"status": 400, "headers": {"x-ms-error-code": "InvalidBlockList"}}
        if bench.scheme == "abfs"
        else {"status": 404}
    )
    told = list[int]()
    bench.proxy.break_(Rule(fault="status", method=method, path=ends, **gone))
    bench.store.put_file(path, "job/large", progress=told.append)
    assert min(told) == -path.stat().st_size
    assert sum(told) == path.stat().st_size
    bench.store.get_file("job/large", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == path.read_bytes()


def test_an_upload_whose_last_answer_is_lost_is_done(bench: Bench, tmp_path: Path) -> None:
    path = large_file(tmp_path)
    ends = {"gs": "compose", "s3": r"uploadId=", "abfs": "comp=blocklist"}[bench.scheme]
    bench.proxy.break_(Rule(fault="lost_reply", method="PUT" if bench.scheme == "abfs" else "POST", path=ends))
    bench.store.put_file(path, "job/large")
    bench.store.get_file("job/large", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == path.read_bytes()


def test_no_secret_shows_in_errors_logs_and_representations(bench: Bench) -> None:
    bench.proxy.break_(Rule(fault="status", times=99))
    with pytest.raises(StorageError) as failure:
        bench.store.put_bytes(b"1", "key")
    options = str(CLOUDS[bench.scheme].options(bench.proxy.address))
    shown = f"{failure.value} {failure.value.__cause__!r} {bench.log.records} {bench.store!r}"
    for secret in (SECRET, *[part.partition("=")[2] for part in options.split(";") if part.startswith("AccountKey")]):
        assert secret not in shown
