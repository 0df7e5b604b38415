import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetic_core.wire.removal import remove_tree
from tests.fakes.holding import opened_below

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that an unprivileged user can reach, unlike pytest's own."""
    path = Path(tempfile.mkdtemp())
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def unprivileged(folder: Path) -> Iterator[Path]:
    """Make the rest of the test run as a user for whom permissions count."""
    if os.geteuid() != 0:
        yield folder
        return
    os.chown(folder, NOBODY, -1)
    os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        os.seteuid(0)


def test_a_file_is_removed(folder: Path) -> None:
    (folder / "file").touch()
    remove_tree(folder / "file")
    assert list(folder.iterdir()) == []


def test_a_tree_is_removed(folder: Path) -> None:
    (folder / "top/a/b").mkdir(parents=True)
    (folder / "top/a/file").write_bytes(b"1")
    (folder / "top/a/b/.hidden").touch()
    os.mkfifo(folder / "top/fifo")
    remove_tree(folder / "top")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("path", ["none", "none/at/all", "file/below"])
def test_what_is_absent_is_no_error(folder: Path, path: str) -> None:
    (folder / "file").touch()
    remove_tree(folder / path)
    assert [left.name for left in folder.iterdir()] == ["file"]


def test_a_link_is_removed_and_not_followed(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere/precious").write_text("keep")
    (folder / "link").symlink_to(folder / "elsewhere")
    remove_tree(folder / "link")
    assert not (folder / "link").is_symlink()
    assert (folder / "elsewhere/precious").read_text() == "keep"


def test_links_inside_are_removed_and_not_followed(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere/precious").write_text("keep")
    (folder / "top").mkdir()
    (folder / "top/to-folder").symlink_to(folder / "elsewhere")
    (folder / "top/to-file").symlink_to(folder / "elsewhere/precious")
    (folder / "top/to-nothing").symlink_to(folder / "nothing")
    remove_tree(folder / "top")
    assert sorted(left.name for left in folder.iterdir()) == ["elsewhere"]
    assert (folder / "elsewhere/precious").read_text() == "keep"


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o300, 0o555])
def test_directories_that_deny_writing_are_removed(unprivileged: Path, mode: int) -> None:
    (unprivileged / "top/sealed/inner").mkdir(parents=True)
    (unprivileged / "top/sealed/file").touch()
    (unprivileged / "top/sealed/inner/file").touch(mode=0o400)
    for path in ("top/sealed/inner", "top/sealed", "top"):
        (unprivileged / path).chmod(mode)
    remove_tree(unprivileged / "top")
    assert list(unprivileged.iterdir()) == []


def test_a_parent_that_denies_writing_is_told(unprivileged: Path) -> None:
    (unprivileged / "parent/top").mkdir(parents=True)
    (unprivileged / "parent").chmod(0o500)
    with pytest.raises(PermissionError):
        remove_tree(unprivileged / "parent/top")
    (unprivileged / "parent").chmod(0o700)


def test_a_file_in_a_parent_that_denies_writing_is_told(unprivileged: Path) -> None:
    (unprivileged / "parent").mkdir()
    (unprivileged / "parent/file").touch()
    (unprivileged / "parent").chmod(0o500)
    with pytest.raises(OSError, match="file"):
        remove_tree(unprivileged / "parent/file")
    (unprivileged / "parent").chmod(0o700)


def test_a_tree_deeper_than_stack_and_descriptors_allow_is_removed(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    remove_tree(folder / "d")
    assert list(folder.iterdir()) == []


def test_a_directory_that_is_written_to_meanwhile_is_removed_in_the_end(folder: Path) -> None:
    (folder / "top/sub").mkdir(parents=True)
    started = threading.Event()

    def write() -> None:
        for number in range(2000):
            try:
                (folder / f"top/sub/{number}").touch()
            except FileNotFoundError:
                return
            started.set()

    writer = threading.Thread(target=write)
    writer.start()
    started.wait()
    remove_tree(folder / "top")
    writer.join()
    assert not (folder / "top").exists()


def test_a_name_that_another_remover_took_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "top/a/b").mkdir(parents=True)
    (folder / "top/c").mkdir()
    listdir = os.listdir

    def taken_meanwhile(directory: int) -> list[str]:
        return [*listdir(directory), "gone"]

    opened = os.open

    def gone_when_opened(path: str, flags: int, **options: int) -> int:
        if path == "c":
            os.rmdir("c", dir_fd=options["dir_fd"])
        return opened(path, flags, **options)

    monkeypatch.setattr(os, "listdir", taken_meanwhile)
    monkeypatch.setattr(os, "open", gone_when_opened)
    remove_tree(folder / "top")
    assert not (folder / "top").exists()


def test_a_top_that_another_remover_took_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "top").mkdir()
    opened = os.open

    def gone_when_opened(path: str, flags: int, **options: int) -> int:
        if path == "top":
            (folder / "top").rmdir()
        return opened(path, flags, **options)

    monkeypatch.setattr(os, "open", gone_when_opened)
    remove_tree(folder / "top")
    assert list(folder.iterdir()) == []


def test_an_emptied_directory_that_another_remover_took_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "top/sub").mkdir(parents=True)
    rmdir = os.rmdir

    def twice(path: str, *, dir_fd: int) -> None:
        rmdir(path, dir_fd=dir_fd)
        rmdir(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", twice)
    remove_tree(folder / "top")
    assert list(folder.iterdir()) == []


def test_a_directory_that_is_busy_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "top").mkdir()

    def busy(path: str, *, dir_fd: int) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy", path)

    monkeypatch.setattr(os, "rmdir", busy)
    with pytest.raises(OSError, match="busy"):
        remove_tree(folder / "top")


def test_a_directory_that_never_empties_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "top").mkdir()

    def never_empty(path: str, *, dir_fd: int) -> None:
        raise OSError(errno.ENOTEMPTY, "Directory not empty", path)

    monkeypatch.setattr(os, "rmdir", never_empty)
    with pytest.raises(OSError, match="keeps writing"):
        remove_tree(folder / "top")


def test_no_descriptor_is_left_open(folder: Path) -> None:
    (folder / "top/a/b").mkdir(parents=True)
    remove_tree(folder / "top")
    assert opened_below(folder) == []
