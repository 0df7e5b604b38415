"""The pod's side of object stores: the runner reads and writes through fsspec alone, in bad weather too."""

import json
import os
from pathlib import Path
from typing import Any, Final

import attrs
import fsspec.config
import pytest

from kinetic_runner import drivers
from kinetic_runner.delivery import Destination
from kinetic_runner.fetch import download, fetch
from kinetic_runner.resolve import DataPlaces, Resolver
from tests.contract.conftest import Place, Servers, cloudy_place
from tests.contract.stores import CLOUDY
from tests.fakes.project import Project
from tests.fakes.servers.proxy import Rule
from tests.fakes.servers.stores import CLOUDS, SECRET
from tests.unit.kinetic_runner.inprocess import reference
from tests.unit.kinetic_runner.journal import Journal

DATA: Final = bytes(range(256)) * 1000
# Longer than gcsfs sends at once; and it holds the line that gcsfs puts between the parts of a small upload.
BOUNDARY: Final = b"\n--==0==\n" + DATA


@attrs.frozen(kw_only=True)
class Pod:
    """A runner's view of a store."""

    place: Place
    journal: Journal


@pytest.fixture(params=CLOUDY)
def pod(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    place = cloudy_place(request.param, servers, tmp_path)
    assert place.proxy is not None
    options = CLOUDS[place.scheme].options_here(place.proxy.address)
    monkeypatch.setitem(fsspec.config.conf, place.scheme, options)
    monkeypatch.setattr("kinetic_runner.retry._DELAYS_S", (0.0, 0.0, 0.0, 0.0))
    drivers._system.cache_clear()
    return Pod(place=place, journal=Journal())


def publish(pod: Pod, data: bytes, scratch: Path) -> None:
    destination = Destination(f"{pod.place.url}/job/result.pkl", scratch)
    part = destination.part_file()
    part.write_bytes(data)
    destination.publish(part, pod.journal)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("fault", ["status", "reset", "truncated", "altered"])
def test_a_download_is_tried_again_until_it_is_whole(pod: Pod, fault: Any, tmp_path: Path) -> None:
    pod.place.open().put_bytes(DATA, "job/payload.pkl")
    assert pod.place.proxy is not None
    # Not what gcsfs asks of the object beforehand: two questions, of which one answer is enough.
    path = "alt=media" if pod.place.scheme == "gs" else "payload"
    pod.place.proxy.break_(Rule(fault=fault, method="GET", path=path, times=2))
    fetched = fetch(f"{pod.place.url}/job/payload.pkl", tmp_path, log=pod.journal, hashed=True)
    assert fetched.path.read_bytes() == DATA
    assert len(pod.journal.warnings) <= 2
    assert pod.place.proxy.count("GET", path) >= 3


@pytest.mark.parametrize("fault", ["status", "reset", "reset_mid_request", "lost_reply", "altered_request"])
def test_an_upload_is_tried_again_until_it_is_whole(pod: Pod, fault: Any, tmp_path: Path) -> None:
    assert pod.place.proxy is not None
    pod.place.open().put_bytes(b"", "job/handle.json")
    pod.place.proxy.break_(Rule(fault=fault, method="PUT|POST", times=2))
    publish(pod, DATA, tmp_path / "scratch")
    assert pod.place.open().get_bytes("job/result.pkl") == DATA
    # On a connection that was used before, aiohttp sends once more by itself.
    assert 1 <= len(pod.journal.warnings) <= 2


@pytest.mark.parametrize("status", [408, 429, 500, 502, 504])
def test_what_may_pass_is_tried_again_by_either_verb(pod: Pod, status: int, tmp_path: Path) -> None:
    assert pod.place.proxy is not None
    pod.place.open().put_bytes(DATA, "job/payload.pkl")
    # Not what gcsfs asks of the object beforehand: two questions, of which one answer is enough.
    path = "alt=media" if pod.place.scheme == "gs" else "payload"
    failing = Rule(fault="status", status=status, method="GET|HEAD", path=path)
    pod.place.proxy.break_(failing)
    assert fetch(f"{pod.place.url}/job/payload.pkl", tmp_path, log=pod.journal, hashed=False).path.read_bytes() == DATA
    assert failing.hits > 1
    failing = Rule(fault="status", status=status, method="PUT|POST")
    pod.place.proxy.break_(failing)
    publish(pod, DATA, tmp_path / "scratch")
    assert pod.place.open().get_bytes("job/result.pkl") == DATA
    assert failing.hits > 1


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refusal_ends_it_at_once(pod: Pod, status: int, tmp_path: Path) -> None:
    assert pod.place.proxy is not None
    pod.place.open().put_bytes(DATA, "job/payload.pkl")
    pod.place.proxy.break_(Rule(fault="status", status=status, times=99))
    with pytest.raises(Exception, match=r"."):
        fetch(f"{pod.place.url}/job/payload.pkl", tmp_path, log=pod.journal, hashed=True)
    destination = Destination(f"{pod.place.url}/job/result.pkl", tmp_path / "scratch")
    part = destination.part_file()
    part.write_bytes(DATA)
    with pytest.raises(Exception, match=r"."):
        destination.publish(part, pod.journal)
    assert pod.journal.warnings == []


def test_a_store_that_stays_down_is_asked_a_bounded_number_of_times(pod: Pod, tmp_path: Path) -> None:
    assert pod.place.proxy is not None
    pod.place.open().put_bytes(DATA, "job/payload.pkl")
    pod.place.proxy.break_(Rule(fault="status", times=999))
    with pytest.raises(Exception, match=r"."):
        fetch(f"{pod.place.url}/job/payload.pkl", tmp_path, log=pod.journal, hashed=True)
    # Five times; a driver may ask two questions at once, or a second one where the first fails.
    assert 5 <= len(pod.place.proxy.seen) <= 10


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no store longer than half a second; asked for before the store is opened."""
    monkeypatch.setattr(drivers, "_STALLED_S", 0.5)
    monkeypatch.setattr(drivers, "_SLOWEST", 32 << 20)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", ["deaf", "mute"])
@pytest.mark.parametrize("size", [1000, 24 << 20])
def test_a_store_that_accepts_and_says_nothing_is_given_up(
    pod: Pod, fault: Any, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_runner.retry._DELAYS_S", (0.0,))
    proxy = pod.place.proxy
    assert proxy is not None
    pod.place.open().put_bytes(DATA, "job/payload.pkl")
    proxy.break_(Rule(fault=fault, method="GET|HEAD", times=99))
    said = r" of {url}/job/{name} failed \(after 2 attempts\): .*[Tt]imeout"
    with pytest.raises(OSError, match=said.format(url=pod.place.url, name="payload.pkl")):
        fetch(f"{pod.place.url}/job/payload.pkl", tmp_path, log=pod.journal, hashed=True)
    proxy.break_(Rule(fault=fault, method="PUT|POST", times=99))
    with pytest.raises(OSError, match=said.format(url=pod.place.url, name="result.pkl")):
        publish(pod, b"x" * size, tmp_path / "scratch")
    assert len(pod.journal.warnings) == 2


def test_an_absent_object_is_told_at_once(pod: Pod, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fetch(f"{pod.place.url}/job/none", tmp_path, log=pod.journal, hashed=True)
    assert pod.journal.warnings == []


def test_a_record_is_taken_back_and_one_that_is_not_there_is_no_error(pod: Pod, tmp_path: Path) -> None:
    publish(pod, b"of an earlier attempt", tmp_path / "scratch")
    destination = Destination(f"{pod.place.url}/job/result.pkl", tmp_path)
    for _ in range(2):
        destination.clear(pod.journal)
        assert not pod.place.open().exists("job/result.pkl")
    assert pod.journal.warnings == []


def test_bytes_that_a_driver_would_take_for_its_own_go_up(pod: Pod, tmp_path: Path) -> None:
    publish(pod, BOUNDARY, tmp_path / "scratch")
    assert pod.place.open().get_bytes("job/result.pkl") == BOUNDARY


@pytest.mark.parametrize("size", [0, 6 << 20])
def test_any_size_goes_up_and_comes_down(pod: Pod, size: int, tmp_path: Path) -> None:
    publish(pod, b"x" * size, tmp_path / "scratch")
    download(f"{pod.place.url}/job/result.pkl", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"x" * size


@pytest.mark.parametrize("name", ["a*", "a?b", "[ab]", "per%20cent", "hash#tag", "with space", "naïve-日本", "a::b"])
def test_no_character_of_a_name_is_a_pattern(pod: Pod, name: str, tmp_path: Path) -> None:
    store = pod.place.open()
    store.put_bytes(b"other", "job/ab")
    store.put_bytes(b"odd", f"job/{name}")
    download(f"{pod.place.url}/job/{name}", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"odd"


def test_a_url_is_one_object_or_all_below_a_prefix_with_or_without_its_slash(pod: Pod, tmp_path: Path) -> None:
    store, url = pod.place.open(), pod.place.url
    for key in ("one.bin", "set/a[1].txt", "set/deep/b.txt", "set2/other", "set.txt"):
        store.put_bytes(key.encode(), key)
    resolver = Resolver(DataPlaces(directory=tmp_path / "data"), None, pod.journal)
    asked = [reference(f"{url}/one.bin"), reference(f"{url}/set/", is_dir=True), reference(f"{url}/set")]
    one, with_slash, without = map(Path, resolver.resolve(asked, {}).args)
    assert (one.name, one.read_bytes()) == ("one.bin", b"one.bin")
    for folder in (with_slash, without):
        files = {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}
        assert files == {"a[1].txt": "set/a[1].txt", "deep/b.txt": "set/deep/b.txt"}
    (warning,) = pod.journal.warnings
    assert f"{url}/set names no object but 2 below it" in warning
    with pytest.raises(FileNotFoundError):
        resolver.resolve([reference(f"{url}/nowhere")], {})


SCRIPT: Final = """
    import json, pathlib, kinetic, data_job
    tree = pathlib.Path("tree")
    for name in ("a[1].txt", "a*b", "#x", "a%20b", "sub/naïve", "empty"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("" if name == "empty" else name)
    (tree / "hollow").mkdir()
    handle = data_job.read.run_async(kinetic.Data("tree"))
    value = handle.result(cleanup=False)
    print(json.dumps([value, handle.to_dict()]))
"""


@pytest.mark.parametrize(("scheme", "said_in"), [*((scheme, "variable") for scheme in CLOUDY), ("s3", "profile")])
def test_a_job_lives_on_an_object_store_and_nothing_of_it_shows_a_secret(
    scheme: str, said_in: str, servers: Servers, tmp_path: Path
) -> None:
    place = cloudy_place(scheme, servers, tmp_path)
    assert place.proxy is not None
    project = Project(tmp_path)
    project.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    project.write(
        "data_job.py",
        """
        import os, pathlib, kinetic

        @kinetic.run(accelerator="cpu")
        def read(tree):
            top = pathlib.Path(tree)
            files = {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}
            commands = [pathlib.Path(f"/proc/{pid}/cmdline") for pid in (os.getpid(), os.getppid())]
            return files, (top / "hollow").is_dir(), [one.read_text() for one in commands if one.exists()]
        """,
    )
    environ = place.environ() | {"KINETIC_LOG_LEVEL": "debug"}
    if said_in == "profile":
        options = json.loads(environ.pop("KINETIC_STORAGE_OPTIONS"))
        profile = {"storage": environ.pop("KINETIC_STORAGE"), "storage_options": options}
        project.home.joinpath(".kinetic").mkdir(parents=True)
        project.home.joinpath(".kinetic/profiles.json").write_text(json.dumps({"profiles": {"work": profile}}))
        environ["KINETIC_PROFILE"] = "work"
    ended = project.run(SCRIPT, environ=environ)
    (files, hollow, commands), handle = ended.said
    names = ("a[1].txt", "a*b", "#x", "a%20b", "sub/naïve")
    assert files == {name: name for name in names} | {"empty": ""}
    assert hollow
    store = place.open(place.job_url())
    kept = {found.key: store.get_bytes(found.key) for found in store.list()}
    assert any(key.endswith("result.pkl") for key in kept)
    secrets = [SECRET, json.dumps(CLOUDS[scheme].options(place.proxy.address)).partition("AccountKey=")[2][:40]]
    for secret in filter(None, secrets):
        assert secret not in f"{commands} {handle} {ended.out} {ended.err}"
        assert not [key for key, data in kept.items() if secret.encode() in data]
    assert os.environ.get("KINETIC_STORAGE_OPTIONS") is None
