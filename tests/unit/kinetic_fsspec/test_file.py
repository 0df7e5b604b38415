import errno
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kinetic_core.errors import ConfigError, StorageError
from kinetic_fsspec.file import FileStorage, root_of
from tests.fakes.holding import opened_below

HOME = Path("/home/ann")


@pytest.fixture
def store(tmp_path: Path) -> FileStorage:
    return FileStorage(tmp_path / "store")


def part_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(".kinetic-part-")]


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("file:///data/store", "/data/store"),
        ("file:///data/store/", "/data/store"),
        ("file:////data//./x/../store", "/data/store"),
        ("file://localhost/data/store", "/data/store"),
        ("file://~/x", "/home/ann/x"),
        ("file://~", "/home/ann"),
        ("file:///data/~/x", "/data/~/x"),
        ("file:///a%20b", "/a%20b"),
        ("file:///a b#c?d", "/a b#c?d"),
    ],
)
def test_a_url_names_a_directory_literally(url: str, root: str) -> None:
    assert root_of(url, HOME) == Path(root)


@pytest.mark.parametrize(
    "url", ["file://", "file:///", "file://store", "file://./store", "file://~bob/x", "file:///a\0"]
)
def test_a_url_that_names_no_absolute_directory_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="absolute path"):
        root_of(url, HOME)


def test_nothing_is_made_before_something_is_written(store: FileStorage, tmp_path: Path) -> None:
    assert not store.exists("key")
    assert list(store.list()) == []
    store.delete_prefix("key")
    assert list(tmp_path.iterdir()) == []


def test_what_the_store_makes_is_private(store: FileStorage, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store.put_bytes(b"1", "folder/sub/key")
    finally:
        os.umask(old)
    for path in ("store", "store/folder", "store/folder/sub"):
        assert stat.S_IMODE((tmp_path / path).stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "store/folder/sub/key").stat().st_mode) == 0o600


def test_an_aborted_write_is_never_visible(store: FileStorage, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"new")
    store.put_bytes(b"old", "folder/result.pkl")

    def full_disk(_: int) -> None:
        assert len(part_files(tmp_path)) == 1
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StorageError, match="No space left on device"):
        store.put_file(tmp_path / "in", "folder/result.pkl", progress=full_disk)
    assert store.get_bytes("folder/result.pkl") == b"old"
    assert part_files(tmp_path) == []


def test_a_folder_at_the_keys_place_is_told_and_no_part_is_left(store: FileStorage, tmp_path: Path) -> None:
    store.put_bytes(b"1", "folder/key")
    with pytest.raises(StorageError, match=r"cannot write .*/folder"):
        store.put_bytes(b"2", "folder")
    assert part_files(tmp_path) == []


def test_an_object_at_a_folders_place_is_told(store: FileStorage) -> None:
    store.put_bytes(b"1", "key")
    with pytest.raises(StorageError, match=r"cannot write"):
        store.put_bytes(b"2", "key/below")
    with pytest.raises(StorageError, match=r"cannot write"):
        store.put_if_absent(b"2", "key/below")


def test_a_part_file_that_a_killed_writer_left_is_not_listed_and_goes_with_its_folder(
    store: FileStorage, tmp_path: Path
) -> None:
    store.put_bytes(b"1", "folder/key")
    (tmp_path / "store/folder/.kinetic-part-0123").write_bytes(b"half")
    assert [found.key for found in store.list()] == ["folder/key"]
    store.delete_prefix("folder")
    assert list((tmp_path / "store").iterdir()) == []


def test_deletion_follows_no_link(store: FileStorage, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("keep")
    store.put_bytes(b"1", "job/key")
    (tmp_path / "store/job/link").symlink_to(precious)
    (tmp_path / "store/linked-job").symlink_to(precious)
    store.delete_prefix("job")
    store.delete_prefix("linked-job")
    assert (precious / "file").read_text() == "keep"
    assert list((tmp_path / "store").iterdir()) == []


def test_a_listing_follows_no_link_to_a_directory(store: FileStorage, tmp_path: Path) -> None:
    store.put_bytes(b"1", "job/key")
    (tmp_path / "store/job/loop").symlink_to(tmp_path / "store")
    (tmp_path / "store/job/dangling").symlink_to(tmp_path / "none")
    assert [found.key for found in store.list()] == ["job/key"]


def test_a_store_behind_a_link_is_used_as_it_is_spelt(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    store = FileStorage(tmp_path / "link")
    store.put_bytes(b"1", "job/key")
    assert store.url_of("job/key") == f"file://{tmp_path}/link/job/key"
    assert (tmp_path / "disk/job/key").read_bytes() == b"1"
    assert [found.key for found in store.list()] == ["job/key"]


def test_deletion_removes_read_only_directories(store: FileStorage, tmp_path: Path) -> None:
    store.put_bytes(b"1", "job/pod/key")
    for path in ("store/job/pod", "store/job"):
        (tmp_path / path).chmod(0o500)
    store.delete_prefix("job")
    assert list(store.list()) == []


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_put_if_absent_does_without_hard_links(
    store: FileStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refused(source: Path, target: Path, *, follow_symlinks: bool) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refused)
    start = threading.Barrier(8)

    def claim(number: int) -> bool:
        start.wait()
        return store.put_if_absent(b"%d" % number, "folder/key")

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(claim, range(8)))
    assert won.count(True) == 1
    assert store.get_bytes("folder/key") == b"%d" % won.index(True)
    assert part_files(tmp_path) == []


def test_put_if_absent_tells_why_it_failed(store: FileStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: Path, target: Path, *, follow_symlinks: bool) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "link", broken)
    with pytest.raises(StorageError, match="Input/output error"):
        store.put_if_absent(b"1", "key")
    assert part_files(tmp_path) == []


def test_writing_survives_the_folders_deletion_by_another(store: FileStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, deletions = os.open, iter(range(3))

    def deleted_before(path: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT and next(deletions, None) is not None:
            store.delete_prefix("folder")
        return opened(path, flags, mode, dir_fd=dir_fd)

    store.put_bytes(b"1", "folder/sub/first")
    monkeypatch.setattr(os, "open", deleted_before)
    store.put_bytes(b"1", "folder/sub/second")
    assert next(deletions, None) is None
    assert [found.key for found in store.list()] == ["folder/sub/second"]


def test_a_folder_that_keeps_going_away_is_told(store: FileStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def deleted_before(path: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT:
            store.delete_prefix("folder")
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", deleted_before)
    with pytest.raises(StorageError, match=r"cannot write .*/folder/sub/key"):
        store.put_bytes(b"1", "folder/sub/key")


def test_an_object_that_goes_while_it_is_listed_is_left_out(store: FileStorage, tmp_path: Path) -> None:
    for key in ("a", "b/c", "d"):
        store.put_bytes(b"1", key)
    listing = store.list()
    assert next(listing).key == "a"
    store.delete_prefix("b")
    store.delete_prefix("d")
    assert [found.key for found in listing] == []


def test_a_refusal_of_the_system_is_told_with_its_reason(store: FileStorage) -> None:
    store.put_bytes(b"1", "key")
    with pytest.raises(StorageError, match=r"cannot read .*: File name too long"):
        store.get_bytes("x" * 300)
    with pytest.raises(StorageError, match=r"cannot write .*: File name too long"):
        store.put_bytes(b"1", "x" * 300)
    with pytest.raises(StorageError, match=r"cannot look up .*: File name too long"):
        store.exists("x" * 300)


def test_no_descriptor_is_left_open(store: FileStorage, tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    store.put_file(tmp_path / "in", "key")
    store.get_file("key", tmp_path / "out")
    store.put_if_absent(b"", "key")
    store.get_bytes("key")
    list(store.list())
    store.delete_prefix("key")
    assert opened_below(tmp_path) == []


def modes(root: Path) -> dict[str, int]:
    return {path.relative_to(root).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o2770, 0o3775])
def test_what_all_users_of_a_store_have_in_common_follows_its_directorys_mode(tmp_path: Path, mode: int) -> None:
    root = tmp_path / "store"
    root.mkdir()
    root.chmod(mode)
    store = FileStorage(root)
    old = os.umask(0o077)
    try:
        store.put_bytes(b"1", "jobs/job-1")
        store.put_bytes(b"1", "cache/ab/sub/file")
        store.put_if_absent(b"", "cache/ab.complete")
        store.put_bytes(b"1", "ann-0123/train-1/payload.pkl")
    finally:
        os.umask(old)
    found = modes(root)
    setgid = mode & stat.S_ISGID
    assert {
        name: found.pop(name) for name in ("jobs", "cache", "outputs", "cache/ab", "cache/ab/sub")
    } == dict.fromkeys(("jobs", "cache", "outputs", "cache/ab", "cache/ab/sub"), mode)
    readable = 0o600 | mode & 0o044
    assert found == {
        "jobs/job-1": 0o600,
        "cache/ab/sub/file": readable,
        "cache/ab.complete": readable,
        # The kernel hands a folder's setgid bit on.
        "ann-0123": 0o700 | setgid,
        "ann-0123/train-1": 0o700 | setgid,
        "ann-0123/train-1/payload.pkl": 0o600,
    }


@pytest.mark.parametrize("mode", [None, 0o700, 0o755])
def test_a_store_that_others_cannot_write_is_private_throughout(tmp_path: Path, mode: int | None) -> None:
    root = tmp_path / "store"
    if mode is not None:
        root.mkdir()
        root.chmod(mode)
    FileStorage(root).put_bytes(b"1", "cache/ab/file")
    FileStorage(root).put_bytes(b"1", "top")
    assert modes(root) == {"cache": 0o700, "cache/ab": 0o700, "cache/ab/file": 0o600, "top": 0o600}


def test_a_common_folder_that_somebody_made_meanwhile_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "store"
    root.mkdir()
    root.chmod(0o777)
    rename = Path.rename

    def late(source: Path, target: Path) -> Path:
        target.mkdir()
        (target / "theirs").touch()
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", late)
    FileStorage(root).put_bytes(b"1", "jobs/job-1")
    assert sorted(path.name for path in (root / "jobs").iterdir()) == ["job-1", "theirs"]
    assert sorted(path.name for path in root.iterdir()) == ["cache", "jobs", "outputs"]


def test_a_key_that_cannot_be_written_is_told_once(store: FileStorage) -> None:
    with pytest.raises(StorageError, match=r"^'a/\.\./b' is no key"):
        store.put_bytes(b"1", "a/../b")
