"""The cache of content hashes: private, bounded, whole, and shared."""

import errno
import logging
import multiprocessing
import os
import stat
from pathlib import Path

import attrs
import pytest

from kinetic import hashes
from kinetic.hashes import HashCache
from kinetic.settings import CacheMode
from kinetic_core.model.blocks import Listing
from kinetic_core.model.listing import NAME, listed
from kinetic_core.references.hashing import hash_path


@pytest.fixture
def cache(tmp_path: Path) -> HashCache:
    return HashCache(folder=tmp_path / "deep" / "cache")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder of more files than are hashed as fast as looked up, all written long ago."""
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(hashes.FEW_FILES + 1):
        (folder / f"{number}.txt").write_text(str(number))
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each file of the data whose content is read."""
    noted: list[str] = []
    original = os.open

    def noting(path: str, flags: int, *rest: int, dir_fd: int | None = None) -> int:
        if str(path).endswith(".txt"):
            noted.append(Path(path).name)
        return original(path, flags, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", noting)
    return noted


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing count as just written."""
    monkeypatch.setattr("kinetic_core.model.trust.RACY_NS", -(10**12))


def kept(cache: HashCache) -> list[str]:
    return [one.path for one in cache.contents()]


@pytest.mark.usefixtures("long_ago")
def test_what_did_not_change_is_read_once(cache: HashCache, data: Path, read: list[str]) -> None:
    first = cache.hash_path(data, mode="on")
    assert len(read) == hashes.FEW_FILES + 1
    read.clear()
    assert cache.hash_path(data, mode="on").digest == first.digest
    assert read == []
    (data / "3.txt").write_text("another")
    assert cache.hash_path(data, mode="on").digest == hash_path(data).digest
    assert read[0] == "3.txt"


@pytest.mark.usefixtures("long_ago")
def test_a_directory_that_did_not_change_is_not_listed_again(
    cache: HashCache, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cache.hash_path(data, mode="on")
    monkeypatch.setattr(os, "scandir", None)
    assert cache.hash_path(data, mode="on") == first
    (data / "3.txt").write_text("another")
    edited = cache.hash_path(data, mode="on")
    monkeypatch.undo()
    assert edited.digest == hash_path(data).digest != first.digest


@pytest.mark.usefixtures("long_ago")
def test_verify_lists_whatever_is_known(cache: HashCache, data: Path, caplog: pytest.LogCaptureFixture) -> None:
    known = cache.hash_path(data, mode="on")
    (data / "new.txt").write_text("new")
    # As on a file system that does not tell of what came.
    assert known.found.directories is not None
    (row,) = known.found.directories
    silent = Listing([listed(row[NAME], data.stat())])
    cache.keep(data, attrs.evolve(known, found=attrs.evolve(known.found, directories=silent)))
    assert cache.hash_path(data, mode="verify").digest == hash_path(data).digest != known.digest
    (warned,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert "data_hashes_stale" in warned.getMessage()


def test_what_was_just_written_is_read_again(cache: HashCache, data: Path, read: list[str]) -> None:
    cache.hash_path(data, mode="on")
    read.clear()
    cache.hash_path(data, mode="on")
    assert len(read) == hashes.FEW_FILES + 1


def test_what_is_little_is_not_kept(cache: HashCache, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1")
    assert cache.hash_path(tmp_path / "one.txt", mode="on") == hash_path(tmp_path / "one.txt")
    assert not cache.folder.exists()


@pytest.mark.usefixtures("long_ago")
def test_one_long_file_is_kept_too(cache: HashCache, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_bytes(bytes(hashes.FEW_BYTES + 1))
    cache.hash_path(tmp_path / "long.txt", mode="on")
    assert kept(cache) == [str(tmp_path / "long.txt")]


@pytest.mark.usefixtures("long_ago")
def test_off_neither_looks_nor_keeps(cache: HashCache, data: Path, read: list[str]) -> None:
    cache.hash_path(data, mode="off")
    assert not cache.folder.exists()
    cache.hash_path(data, mode="on")
    read.clear()
    cache.hash_path(data, mode="off")
    assert len(read) == hashes.FEW_FILES + 1


@pytest.mark.usefixtures("long_ago")
def test_verify_reads_all_and_warns_where_the_cache_is_wrong(
    cache: HashCache, data: Path, read: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    cache.hash_path(data, mode="on")
    read.clear()
    right = cache.hash_path(data, mode="verify")
    assert len(read) == hashes.FEW_FILES + 1
    assert caplog.records == []
    wrong = attrs.evolve(right, digest=hash_path(data / "1.txt").digest, digests=bytes(len(right.digests)))
    cache.keep(data, wrong)
    assert cache.hash_path(data, mode="verify").digest == right.digest
    (warned,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert "data_hashes_stale" in warned.getMessage()
    assert cache.load(data) == right


def test_nobody_else_may_look(cache: HashCache, data: Path) -> None:
    cache.folder.mkdir(parents=True)
    cache.folder.chmod(0o755)
    cache.hash_path(data, mode="on")
    for path in (cache.folder, *cache.folder.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_a_folder_of_somebody_else_is_not_used(cache: HashCache, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.hash_path(data, mode="on")
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert cache.load(data) is None
    before = kept(cache)
    cache.keep(data / "other", hash_path(data))
    assert kept(cache) == before


@pytest.mark.parametrize("at", [0, 2, 10, -1])
def test_damage_is_noticed(cache: HashCache, data: Path, at: int) -> None:
    cache.hash_path(data, mode="on")
    (file,) = cache.folder.iterdir()
    damaged = bytearray(file.read_bytes())
    damaged[at] ^= 0xFF
    file.write_bytes(damaged)
    loaded = cache.load(data)
    assert loaded is None or at == 10  # a byte of the path, which only people read
    assert cache.hash_path(data, mode="on").digest == hash_path(data).digest
    assert len(cache.contents()) == 1


def test_a_pipe_in_a_files_place_is_waited_for_by_nobody_and_replaced(cache: HashCache, data: Path) -> None:
    cache.hash_path(data, mode="on")
    (file,) = cache.folder.iterdir()
    file.unlink()
    os.mkfifo(file)
    assert cache.load(data) is None
    assert cache.hash_path(data, mode="on").digest == hash_path(data).digest
    assert cache.load(data) is not None


def test_machines_that_share_a_home_share_no_hashes(
    cache: HashCache, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.hash_path(data, mode="on")
    monkeypatch.setattr("kinetic.settings.machine", lambda: "another machine")
    assert cache.load(data) is None


def test_a_cache_inside_the_data_itself_is_not_used(data: Path) -> None:
    cache = HashCache(folder=data / "cache")
    cache.hash_path(data, mode="on")
    assert not cache.folder.exists()


@pytest.mark.parametrize("folder", ["relative", "/proc/nobody/may/write"])
def test_what_cannot_be_kept_is_no_failure(data: Path, folder: str) -> None:
    cache = HashCache(folder=Path(folder))
    assert cache.hash_path(data, mode="on") == hash_path(data)
    assert cache.contents() == cache.clear() == ()


def test_a_disk_that_is_full_leaves_nothing(cache: HashCache, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache.hash_path(data, mode="on")
    assert list(cache.folder.iterdir()) == []


def test_the_least_recently_used_goes_first(cache: HashCache, data: Path) -> None:
    hashed = hash_path(data)
    for number, name in enumerate(("a", "b", "c")):
        cache.keep(Path("/", name), hashed)
        for one in cache.contents():
            if one.path == f"/{name}":
                os.utime(one.file, (number, number))
    assert kept(cache) == ["/c", "/b", "/a"]
    cache.load(Path("/a"))
    assert kept(cache) == ["/a", "/c", "/b"]
    HashCache(folder=cache.folder, most_paths=2).keep(Path("/d"), hashed)
    assert kept(cache) == ["/d", "/a"]
    size = max(one.size_bytes for one in cache.contents())
    HashCache(folder=cache.folder, most_bytes=size).keep(Path("/e"), hashed)
    assert kept(cache) == ["/e"]
    HashCache(folder=cache.folder, most_bytes=size - 1).keep(Path("/e"), hashed)
    assert kept(cache) == ["/e"]


def test_clearing_removes_all_and_what_cannot_be_told_too(cache: HashCache, data: Path) -> None:
    cache.keep(data, hash_path(data))
    (cache.folder / "left").write_bytes(b"")
    (cache.folder / "folder").mkdir()
    assert sorted(one.path for one in cache.clear()) == ["", str(data)]
    assert cache.contents() == ()


def _hash(folder: Path, data: Path, mode: CacheMode) -> str:
    return HashCache(folder=folder).hash_path(data, mode=mode).digest.sha256


def test_clearing_follows_no_link_and_tells_of_what_went_only(
    cache: HashCache, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *, missing_ok: bool) -> None:
        raise PermissionError(errno.EPERM, "not permitted", str(path))

    cache.hash_path(data, mode="on")
    with monkeypatch.context() as refused:
        refused.setattr(Path, "unlink", refuse)
        assert cache.clear() == ()
    assert len(cache.clear()) == 1
    cache.folder.rmdir()
    cache.folder.symlink_to(data)
    assert cache.clear() == ()
    assert len(list(data.iterdir())) == hashes.FEW_FILES + 1


@pytest.mark.usefixtures("long_ago")
def test_a_cache_that_cannot_be_written_to_serves_all_the_same(
    cache: HashCache, data: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise OSError(errno.EROFS, "read-only file system", str(path))

    cache.hash_path(data, mode="on")
    read.clear()
    monkeypatch.setattr(os, "utime", refuse)
    cache.hash_path(data, mode="on")
    assert read == []


def test_processes_share_it_unharmed(cache: HashCache, data: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(_hash, [(cache.folder, data, "on")] * 12)
    assert set(found) == {hash_path(data).digest.sha256}
    assert kept(cache) == [str(data)]
