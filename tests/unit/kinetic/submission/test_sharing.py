"""What a submission asks of the store for its context, and that a pod can make the context of what lies there."""

import os
import random
import time
from pathlib import Path

import attrs
import pytest

from kinetic.submission.context import Scanned, pack_context, scan_context
from kinetic.submission.sharing import FRESH_S, SharedContext, Sharing
from kinetic.submission.snapshots import SnapshotCache
from kinetic_core.errors import StorageError
from kinetic_core.model.trust import RACY_NS
from kinetic_core.packaging.composition import DEFAULT_LIMITS, Limits
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.wire.names import CONTEXT_FILE
from kinetic_core.wire.plan import Plan
from kinetic_runner.composing import compose
from kinetic_runner.fetch import Fetched
from tests.contract.stores import open_store
from tests.fakes.memory_storage import MemoryStorage

WORDS = [f"word_{number}" for number in range(997)]
MAY_REPEAT = 64 << 10


def source(seed: int, size: int) -> bytes:
    chosen = random.Random(seed)
    text = " ".join(chosen.choice(WORDS) for _ in range(size // 8))
    return text.encode()


@attrs.define
class Client:
    """A project, a cache and a store; each submission is checked as the pod would."""

    root: Path
    job: Path
    cache: SnapshotCache
    storage: MemoryStorage
    limits: Limits = DEFAULT_LIMITS

    def scanned(self) -> Scanned:
        """Scan as if everything had lain there for long."""
        scanned = scan_context(self.root, RuleSet.compile(()), cache=self.cache, environ={})
        return attrs.evolve(scanned, scan=attrs.evolve(scanned.scan, started_ns=scanned.scan.started_ns + 2 * RACY_NS))

    def submit(self) -> SharedContext:
        self.storage.forget_requests()
        self.storage.now_s = time.time()
        for left in self.job.iterdir():
            left.unlink()
        found = self.scanned()
        archive = self.job / CONTEXT_FILE
        written = pack_context(found, Plan(package_root="/p"), archive, cache=self.cache, environ={})
        sharing = Sharing(storage=self.storage, client="d/me-0000000d", cache=self.cache, limits=self.limits)
        shared = sharing.share(written.artifact, self.root, written.snapshot.entry_count, self.job)
        assert self.made(shared) == archive.read_bytes()
        assert shared.staged.sha256 == written.artifact.sha256
        return shared

    def made(self, shared: SharedContext) -> bytes:
        """Return what a pod makes of what it fetches."""
        fetched = []
        for number, url in enumerate((shared.staged.url, *shared.staged.layers)):
            path = self.job / f"fetched-{number}"
            path.write_bytes(self.storage.objects[url.removeprefix(f"{self.storage.url}/")][0])
            fetched.append(Fetched(uri=url, path=path, sha256=None))
        base, *layers = fetched
        return compose(base, layers, self.job / "made").path.read_bytes() if layers else base.path.read_bytes()

    def edit(self, name: str, size: int = 1024) -> None:
        (self.root / name).write_bytes(os.urandom(size // 2).hex().encode())

    @property
    def bytes_put(self) -> int:
        return self.storage.put_bytes_total


@pytest.fixture
def client(tmp_path: Path) -> Client:
    root, job = tmp_path / "root", tmp_path / "job"
    root.mkdir()
    job.mkdir()
    for number in range(300):
        path = root / f"package_{number % 12}" / f"module_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(source(number, 5200))
    return Client(root, job, SnapshotCache(folder=tmp_path / "cache"), MemoryStorage())


def test_an_unchanged_project_uploads_nothing_and_asks_once(client: Client) -> None:
    first = client.submit()
    assert client.bytes_put > MAY_REPEAT
    assert client.submit() == first
    assert client.bytes_put == 0
    assert client.storage.requests == [("list", first.folder)]


def test_an_edit_uploads_little_and_then_counts_as_unchanged(client: Client) -> None:
    client.submit()
    client.edit("package_3/module_3.py")
    edited = client.submit()
    assert len(edited.staged.layers) == 1
    assert 0 < client.bytes_put < 4096
    assert len(client.storage.requests) == 2
    assert client.submit() == edited
    assert client.storage.requests == [("list", edited.folder)]


def test_what_an_edit_uploads_never_grows_with_the_edits_before(client: Client) -> None:
    client.submit()
    for number in range(24):
        client.edit(f"package_{number % 12}/module_{number}.py", 20_000)
        client.submit()
        assert client.bytes_put <= MAY_REPEAT + 20_000
    client.edit("large.bin", 600_000)
    client.submit()
    assert client.bytes_put > 300_000
    for number in range(3):
        client.edit(f"package_1/module_{number}.py")
        client.submit()
        assert client.bytes_put <= MAY_REPEAT + 1024


def test_additions_removals_and_renames_are_layers_too(client: Client) -> None:
    client.submit()
    (client.root / "package_1" / "module_1.py").unlink()
    (client.root / "package_2").rename(client.root / "a_package")
    (client.root / "zz").mkdir()
    client.edit("zz/new.py")
    shared = client.submit()
    assert shared.staged.layers
    assert client.bytes_put <= MAY_REPEAT + 70_000


def test_a_small_project_is_stored_whole_each_time(client: Client) -> None:
    for path in client.root.iterdir():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    client.edit("train.py")
    client.submit()
    client.edit("train.py")
    shared = client.submit()
    assert shared.staged.layers == ()
    assert client.bytes_put < MAY_REPEAT
    assert len(client.storage.requests) == 2


@pytest.mark.parametrize("how", ["gone", "cut", "old"])
def test_a_base_that_vanished_is_uploaded_again(client: Client, how: str) -> None:
    first = client.submit()
    (key,) = first.keys
    spoil(client.storage, key, how)
    assert client.submit() == first
    assert client.bytes_put == first.staged.size_bytes


@pytest.mark.parametrize("how", ["gone", "cut", "old"])
def test_a_base_that_vanished_under_a_layer_is_not_assumed(client: Client, how: str) -> None:
    client.submit()
    client.edit("package_3/module_3.py")
    base, _ = client.submit().keys
    spoil(client.storage, base, how)
    again = client.submit()
    assert again.staged.layers == ()
    assert client.bytes_put == again.staged.size_bytes


@pytest.mark.parametrize("how", ["gone", "cut", "old"])
def test_a_layer_that_vanished_is_made_again(client: Client, how: str) -> None:
    client.submit()
    client.edit("package_3/module_3.py")
    _, layer = client.submit().keys
    spoil(client.storage, layer, how)
    again = client.submit()
    assert len(again.keys) == 2
    assert 0 < client.bytes_put < 4096


def test_an_earlier_layer_that_vanished_goes_into_the_next(client: Client) -> None:
    client.submit()
    client.edit("one.bin", 100_000)
    _, layer = client.submit().keys
    client.edit("two.py")
    assert len(client.submit().keys) == 3
    spoil(client.storage, layer, "gone")
    assert len(client.submit().keys) == 2
    assert client.bytes_put > 50_000


def spoil(storage: MemoryStorage, key: str, how: str) -> None:
    data, modified_s = storage.objects.pop(key)
    match how:
        case "cut":
            storage.objects[key] = (data[:-1], modified_s)
        case "old":
            storage.objects[key] = (data, modified_s - FRESH_S - 60)


def test_a_store_that_tells_no_time_is_believed(client: Client) -> None:
    (key,) = client.submit().keys
    client.storage.objects[key] = (client.storage.objects[key][0], 0.0)
    client.submit()
    assert client.bytes_put == 0


def test_a_store_that_may_not_be_listed_is_asked_for_each_object(client: Client) -> None:
    client.storage.refused = {"list"}
    client.submit()
    client.edit("package_3/module_3.py")
    shared = client.submit()
    assert len(shared.keys) == 2
    client.submit()
    assert client.bytes_put == 0
    assert client.storage.requests == [("list", shared.folder), *(("exists", key) for key in shared.keys)]


def test_where_nothing_may_be_asked_everything_is_uploaded(client: Client) -> None:
    client.storage.refused = {"list", "exists"}
    size = client.submit().staged.size_bytes
    client.submit()
    assert client.bytes_put == size


def test_an_upload_that_fails_is_told_and_made_up_for(client: Client) -> None:
    client.storage.refused = {"put_file"}
    with pytest.raises(StorageError):
        client.submit()
    client.storage.refused = set()
    client.submit()
    client.edit("package_3/module_3.py")
    client.storage.refused = {"put_file"}
    with pytest.raises(StorageError):
        client.submit()
    client.storage.refused = set()
    assert len(client.submit().keys) == 2
    assert client.bytes_put < 4096


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_the_stores_of_this_distribution_serve(client: Client, kind: str, tmp_path: Path) -> None:
    store = open_store(f"{kind}://{tmp_path}/store", tmp_path)

    def submit() -> SharedContext:
        written = pack_context(
            client.scanned(), Plan(package_root="/p"), client.job / CONTEXT_FILE, cache=client.cache, environ={}
        )
        sharing = Sharing(storage=store, client="d/me-0000000d", cache=client.cache)
        shared = sharing.share(written.artifact, client.root, written.snapshot.entry_count, client.job)
        client.storage = MemoryStorage(url=store.url, objects={key: (store.get_bytes(key), 0) for key in shared.keys})
        assert client.made(shared) == (client.job / CONTEXT_FILE).read_bytes()
        return shared

    assert submit() == submit()
    client.edit("package_3/module_3.py")
    edited = submit()
    assert len(edited.keys) == 2
    assert submit() == edited
    store.delete_prefix(edited.keys[1])
    assert len(submit().keys) == 2
    store.delete_prefix(edited.keys[0])
    assert len(submit().keys) == 1


def test_two_stores_in_turn_keep_their_own_layers(client: Client) -> None:
    here, there = client.storage, MemoryStorage(url="count://other")
    client.submit()
    client.storage = there
    client.submit()
    for number in range(4):
        client.storage = (here, there)[number % 2]
        client.edit(f"package_1/module_{number}.py")
        client.submit()
        assert 0 < client.bytes_put < 8192


def test_a_cache_that_was_lost_finds_the_same_archive_by_its_hash(client: Client) -> None:
    first = client.submit()
    client.cache.clear()
    assert client.submit() == first
    assert client.bytes_put == 0


def test_notes_that_are_damaged_cost_an_upload_at_most(client: Client) -> None:
    client.submit()
    (notes,) = client.cache.folder.rglob("compositions")
    for damage in (
        b"",
        b"[]",
        b"{",
        b'{"x": 3}',
        b'{"x": {"sha256": "", "sources": [[1]], "parts": [], "is_stored": 1}}',
    ):
        notes.write_bytes(damage)
        client.edit("package_3/module_3.py")
        assert client.made(client.submit()) == (client.job / CONTEXT_FILE).read_bytes()


def test_notes_that_do_not_fit_the_archive_are_not_used(client: Client) -> None:
    client.submit()
    ((store, known),) = client.cache.compositions(client.root).items()
    fewer = known.parts[0]._replace(entries=known.parts[0].entries - 7)
    client.cache.keep_compositions(client.root, {store: attrs.evolve(known, parts=(fewer,))})
    client.edit("package_3/module_3.py")
    assert client.submit().staged.layers == ()
