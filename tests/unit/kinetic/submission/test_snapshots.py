"""The cache of contexts: private, bounded, whole, and shared."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import pytest

from kinetic.submission.snapshots import SnapshotCache, link_or_copy, unshare
from kinetic_core.model.blocks import Listing
from tests.fakes.snapshots import made

ROOT = Path("/p")


@pytest.fixture
def cache(tmp_path: Path) -> SnapshotCache:
    return SnapshotCache(folder=tmp_path / "deep" / "cache")


def files(cache: SnapshotCache) -> list[str]:
    return sorted(str(path.relative_to(cache.folder)).partition("/")[2] for path in cache.folder.rglob("*.zip"))


def test_what_was_kept_is_there_the_next_time(cache: SnapshotCache, tmp_path: Path) -> None:
    snapshot = made(tmp_path)
    cache.keep(ROOT, snapshot)
    loaded = cache.load(ROOT)
    assert loaded is not None
    assert attrs.evolve(loaded, archive=snapshot.archive) == snapshot
    assert loaded.archive.read_bytes() == b"zip"
    assert cache.load(Path("/other")) is None


def test_the_job_may_lose_its_archive_and_the_cache_keeps_its_own(cache: SnapshotCache, tmp_path: Path) -> None:
    snapshot = made(tmp_path)
    cache.keep(ROOT, snapshot)
    snapshot.archive.unlink()
    loaded = cache.load(ROOT)
    assert loaded is not None
    assert loaded.archive.read_bytes() == b"zip"


def test_a_root_keeps_its_last_archive_only(cache: SnapshotCache, tmp_path: Path) -> None:
    cache.keep(ROOT, made(tmp_path, sha256="one"))
    cache.keep(ROOT, made(tmp_path, sha256="two"))
    assert files(cache) == ["two.zip"]


def test_keeping_what_is_kept_already_changes_nothing(cache: SnapshotCache, tmp_path: Path) -> None:
    cache.keep(ROOT, made(tmp_path))
    loaded = cache.load(ROOT)
    assert loaded is not None
    settled = Listing([("settled", (0,) * 7, 0, 0)])
    cache.keep(ROOT, attrs.evolve(loaded, listing=settled))
    again = cache.load(ROOT)
    assert again is not None
    assert (again.listing, again.archive.read_bytes()) == (settled, b"zip")


def test_nobody_else_may_look(cache: SnapshotCache, tmp_path: Path) -> None:
    cache.folder.mkdir(parents=True)
    cache.folder.chmod(0o755)
    cache.keep(ROOT, made(tmp_path))
    for path in (cache.folder, *cache.folder.rglob("*")):
        if path.suffix != ".zip":
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_a_folder_of_somebody_else_or_a_link_is_not_used(
    cache: SnapshotCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.keep(ROOT, made(tmp_path))
    own = os.geteuid()
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: own + 1)
        assert cache.load(ROOT) is None
        cache.keep(Path("/q"), made(tmp_path, sha256="other"))
    assert cache.load(Path("/q")) is None
    link = tmp_path / "link"
    link.symlink_to(cache.folder)
    assert SnapshotCache(folder=link).load(ROOT) is None


def test_damage_to_the_index_is_noticed(cache: SnapshotCache, tmp_path: Path) -> None:
    cache.keep(ROOT, made(tmp_path))
    (index,) = cache.folder.rglob("index")
    data = bytearray(index.read_bytes())
    data[len(data) // 2] ^= 1
    index.write_bytes(data)
    assert cache.load(ROOT) is None


@pytest.mark.parametrize("name", ["index", "compositions", "root", "lock", "abc.zip"])
def test_a_pipe_in_a_files_place_is_waited_for_by_nobody_and_replaced(
    cache: SnapshotCache, tmp_path: Path, name: str
) -> None:
    cache.keep(ROOT, made(tmp_path))
    (place,) = cache.folder.iterdir()
    (place / name).unlink(missing_ok=True)
    os.mkfifo(place / name)
    assert (cache.load(ROOT) is None) == (name == "index")
    assert cache.compositions(ROOT) == {}
    cache.keep_compositions(ROOT, {})
    cache.keep(ROOT, made(tmp_path, sha256="new"))
    loaded = cache.load(ROOT)
    assert loaded is not None
    assert loaded.archive.read_bytes() == b"zip"
    assert [kept.root for kept in cache.contents()] == [str(ROOT)]


def test_machines_that_share_a_home_share_no_archive(
    cache: SnapshotCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.keep(ROOT, made(tmp_path))
    monkeypatch.setattr("kinetic.settings.machine", lambda: "another machine")
    assert cache.load(ROOT) is None


# Bounds


def use(cache: SnapshotCache, root: Path, at: float) -> None:
    (kept,) = (kept for kept in cache.contents() if kept.root == str(root))
    os.utime(kept.folder / "index", (at, at))


def test_the_least_recently_used_goes_when_there_are_too_many(cache: SnapshotCache, tmp_path: Path) -> None:
    small = attrs.evolve(cache, most_roots=2)
    for number, name in enumerate(("a", "b", "c")):
        if name == "c":
            use(small, Path("/a"), 100.0)
        small.keep(Path("/", name), made(tmp_path, sha256=name))
        use(small, Path("/", name), float(number))
    assert sorted(kept.root for kept in small.contents()) == ["/a", "/c"]


def test_the_least_recently_used_goes_when_it_grows_too_large(cache: SnapshotCache, tmp_path: Path) -> None:
    small = attrs.evolve(cache, most_bytes=2500)
    for name in ("a", "b", "c"):
        small.keep(Path("/", name), made(tmp_path, b"x" * 1000, sha256=name))
        use(small, Path("/", name), float(ord(name)))
    assert sorted(kept.root for kept in small.contents()) == ["/b", "/c"]


def test_use_keeps_alive(cache: SnapshotCache, tmp_path: Path) -> None:
    cache.keep(ROOT, made(tmp_path))
    use(cache, ROOT, 5.0)
    cache.load(ROOT)
    assert cache.contents()[0].used_at > 5.0


def test_an_archive_too_large_for_the_cache_is_not_kept(cache: SnapshotCache, tmp_path: Path) -> None:
    attrs.evolve(cache, most_bytes=2).keep(ROOT, made(tmp_path))
    assert cache.contents() == ()


# What it says of itself


def test_contents_and_clearing(cache: SnapshotCache, tmp_path: Path) -> None:
    assert (cache.contents(), cache.clear()) == ((), ())
    cache.keep(ROOT, made(tmp_path, b"x" * 1000))
    (kept,) = cache.contents()
    assert kept.root == "/p"
    assert 1000 < kept.size_bytes < 2000
    assert cache.clear() == (kept,)
    assert cache.contents() == ()
    assert cache.load(ROOT) is None


def test_rubbish_in_the_cache_is_listed_and_cleared(cache: SnapshotCache) -> None:
    (cache.folder / "rubbish").mkdir(parents=True)
    assert [kept.root for kept in cache.clear()] == [""]
    assert list(cache.folder.iterdir()) == []


def test_rubbish_beside_an_archive_goes_with_the_next_one(cache: SnapshotCache, tmp_path: Path) -> None:
    cache.keep(ROOT, made(tmp_path))
    (place,) = cache.folder.iterdir()
    (place / ".half-written").mkdir()
    (place / ".half-written" / "file").touch()
    (place / "stray.zip").touch()
    cache.keep(ROOT, made(tmp_path, sha256="new"))
    assert sorted(path.name for path in place.iterdir()) == ["index", "lock", "new.zip", "root"]


# Failures and other processes


@pytest.mark.parametrize("call", ["mkdir", "replace", "link"])
def test_a_cache_that_cannot_be_written_fails_nothing(
    cache: SnapshotCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    snapshot = made(tmp_path)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        if call == "link":
            patched.setattr(os, "link", full)
            patched.setattr("shutil.copyfile", full)
        else:
            patched.setattr(Path, call, full)
        cache.keep(ROOT, snapshot)
    assert cache.load(ROOT) is None
    left = cache.folder.rglob("*") if cache.folder.exists() else []
    assert [path for path in left if path.name not in {"lock", "root"} and path.is_file()] == []


def test_without_a_home_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    snapshot = made(tmp_path / "job")
    cache = SnapshotCache(folder=Path("~", ".cache"))
    cache.keep(ROOT, snapshot)
    assert cache.load(ROOT) is None
    assert [path.name for path in tmp_path.iterdir()] == ["job"]


def test_a_root_that_another_process_is_keeping_is_left_to_it(cache: SnapshotCache, tmp_path: Path) -> None:
    cache.keep(ROOT, made(tmp_path, sha256="one"))
    (lock,) = cache.folder.rglob("lock")
    with lock.open("rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        cache.keep(ROOT, made(tmp_path, sha256="two"))
        assert files(cache) == ["one.zip"]
    cache.keep(ROOT, made(tmp_path, sha256="two"))
    assert files(cache) == ["two.zip"]


RACE = """
import sys, attrs
from pathlib import Path
from types import FrameType
from kinetic.submission.snapshots import SnapshotCache
from tests.unit.kinetic.submission.test_snapshots import made
cache, own = SnapshotCache(folder=Path(sys.argv[1])), Path(sys.argv[2])
seen = 0
for turn in range(60):
    content = f"{own.name} {turn}".encode() * 50
    cache.keep(Path("/p"), made(own, content, sha256=f"{own.name}-{turn}"))
    loaded = cache.load(Path("/p"))
    if loaded is not None:
        try:
            data = loaded.archive.read_bytes()
        except FileNotFoundError:
            continue
        owner, _, number = loaded.sha256.rpartition("-")
        assert data == f"{owner} {number}".encode() * 50, (loaded.sha256, data[:20])
        seen += 1
print(seen)
"""


def test_processes_that_keep_the_same_root_at_once_never_see_an_archive_that_is_not_the_indexs(
    cache: SnapshotCache, tmp_path: Path
) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(cache.folder), str(tmp_path / f"job{number}")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[4],
        )
        for number in range(3)
    ]
    for process in running:
        out, err = process.communicate(timeout=100)
        assert (process.returncode, err) == (0, "")
        assert int(out) > 0
    assert len(files(cache)) == 1


# A second place for a file


@pytest.mark.parametrize("refused", [errno.EXDEV, errno.EPERM, errno.EMLINK, None])
def test_a_file_is_linked_or_copied_in_place_of_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int | None
) -> None:
    source, target = tmp_path / "source", tmp_path / "job" / "context.zip"
    source.write_bytes(b"new")
    source.chmod(0o600)
    target.parent.mkdir()
    target.write_bytes(b"older")
    if refused is not None:

        def refuse(*_: Any, **__: Any) -> None:
            raise OSError(refused, "refused")

        monkeypatch.setattr(os, "link", refuse)
    link_or_copy(source, target)
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.samefile(source) is (refused is None)
    assert [path.name for path in target.parent.iterdir()] == ["context.zip"]


def test_a_free_place_takes_one_step(tmp_path: Path) -> None:
    source, target, changes = tmp_path / "source", tmp_path / "context.zip", []
    source.write_bytes(b"new")

    def watch(_: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ in {"link", "mkdir", "rename", "replace", "rmdir", "unlink"}:
            changes.append(function.__name__)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        link_or_copy(source, target)
    finally:
        sys.setprofile(before)
    assert changes == ["link"]
    assert target.samefile(source)


def test_linking_what_is_linked_already_leaves_nothing_over(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "job" / "context.zip"
    source.write_bytes(b"new")
    target.parent.mkdir()
    link_or_copy(source, target)
    link_or_copy(source, target)
    assert [path.name for path in target.parent.iterdir()] == ["context.zip"]


def test_a_source_that_is_gone_leaves_the_target_alone(tmp_path: Path) -> None:
    target = tmp_path / "context.zip"
    target.write_bytes(b"older")
    with pytest.raises(FileNotFoundError):
        link_or_copy(tmp_path / "gone", target)
    assert target.read_bytes() == b"older"
    assert [path.name for path in tmp_path.iterdir()] == ["context.zip"]


def test_a_file_that_is_no_more_shared_can_be_written_to(tmp_path: Path) -> None:
    kept, made = tmp_path / "kept", tmp_path / "made"
    kept.write_text("archive")
    made.hardlink_to(kept)
    unshare(made)
    alone = made.stat().st_ino
    unshare(made)
    assert made.stat().st_ino == alone
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    with made.open("a") as stream:
        stream.write(", edited")
    assert (kept.read_text(), made.read_text()) == ("archive", "archive, edited")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "made"]
