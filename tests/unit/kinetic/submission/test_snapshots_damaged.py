"""Damage to the cache of contexts, and strange things in the place of its parts."""

import errno
import os
from pathlib import Path

import pytest

from kinetic.submission.snapshots import SnapshotCache
from kinetic_core.packaging.composition import Composition
from tests.fakes.snapshots import made

ROOT = Path("/p")


@pytest.fixture
def cache(tmp_path: Path) -> SnapshotCache:
    return SnapshotCache(folder=tmp_path / "deep" / "cache")


def place_of(cache: SnapshotCache) -> Path:
    (place,) = cache.folder.iterdir()
    return place


def test_no_bit_of_what_tells_of_compositions_changes_without_a_sign(cache: SnapshotCache, tmp_path: Path) -> None:
    composition = Composition.whole("ab" * 32, size_bytes=900, entries=5)
    cache.keep(ROOT, made(tmp_path))
    cache.keep_compositions(ROOT, {"store": composition})
    assert cache.compositions(ROOT) == {"store": composition}
    file = place_of(cache) / "compositions"
    data = file.read_bytes()
    for at in range(len(data)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert cache.compositions(ROOT) == {}
    file.write_text('{"store": {"sha256": "as of an earlier version"}}')
    assert cache.compositions(ROOT) == {}


def test_what_is_in_the_place_of_a_root_is_replaced_and_what_a_link_leads_to_stays(
    cache: SnapshotCache, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "precious").write_text("x")
    cache.keep(ROOT, made(tmp_path))
    cache.keep_compositions(ROOT, {"store": Composition.whole("ab" * 32, size_bytes=900, entries=5)})
    place = place_of(cache)
    for stray in ("a link", "a file", "a dangling link"):
        place.rename(tmp_path / stray)
        place.symlink_to(theirs if stray == "a link" else tmp_path / "gone")
        if stray == "a file":
            place.unlink()
            place.write_text("")
        assert cache.load(ROOT) is None
        assert cache.compositions(ROOT) == {}
        cache.keep_compositions(ROOT, {})
        assert [kept.folder for kept in cache.contents()] == [place]
        cache.keep(ROOT, made(tmp_path))
        assert cache.load(ROOT) is not None
    assert [path.name for path in theirs.iterdir()] == ["precious"]


@pytest.mark.parametrize("name", ["root", "index", "lock"])
def test_a_folder_in_the_place_of_a_file_is_gone_by_the_packaging_after_next(
    cache: SnapshotCache, tmp_path: Path, name: str
) -> None:
    cache.keep(ROOT, made(tmp_path))
    (place_of(cache) / name).unlink()
    (place_of(cache) / name).mkdir()
    cache.keep(ROOT, made(tmp_path))
    cache.keep(ROOT, made(tmp_path))
    assert cache.load(ROOT) is not None


def test_clearing_follows_no_link_and_tells_of_what_went_only(
    cache: SnapshotCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "folder").mkdir(parents=True)
    cache.keep(ROOT, made(tmp_path))
    (cache.folder / "link").symlink_to(theirs)
    (cache.folder / "file").write_text("")
    with monkeypatch.context() as refused:
        refused.setattr("kinetic.submission.snapshots.remove_tree", refusing)
        assert cache.clear() == ()
    assert len(cache.clear()) == 3
    assert list(cache.folder.iterdir()) == []
    cache.folder.rmdir()
    cache.folder.symlink_to(theirs)
    assert cache.clear() == ()
    assert (theirs / "folder").is_dir()


def refusing(path: Path) -> None:
    raise PermissionError(errno.EPERM, "not permitted", str(path))


def test_a_cache_that_cannot_be_written_to_serves_all_the_same(
    cache: SnapshotCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise OSError(errno.EROFS, "read-only file system", str(path))

    cache.keep(ROOT, made(tmp_path))
    monkeypatch.setattr(os, "utime", refuse)
    assert cache.load(ROOT) is not None
