import contextlib
import os
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.model.trust import RACY_NS
from kinetic_core.references.hashing import Hashed, hash_path, hash_tree, still_holds
from kinetic_core.references.tree import Tree, list_tree
from tests.fakes.holding import own_threads
from tests.property.test_packaging_edits import let_time_pass


def sha(path: Path) -> str:
    """Return the hash of a path."""
    return hash_path(path).digest.sha256


def names(path: Path) -> list[str]:
    """Return what counts, in its order."""
    return list_tree(path).found.names


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "a/b").mkdir(parents=True)
    (root / "a/one.txt").write_text("one")
    (root / "a/b/two.txt").write_text("two")
    (root / "z.txt").write_text("z")
    return root


def test_the_same_tree_elsewhere_has_the_same_hash(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(tree, tmp_path / "copy")
    assert sha(tree) == sha(tmp_path / "copy")
    assert len(sha(tree)) == 64


def test_the_order_on_disk_does_not_matter(tmp_path: Path) -> None:
    names = [f"{index:03}" for index in range(40)]
    for folder, order in (("up", names), ("down", names[::-1])):
        (tmp_path / folder / "sub").mkdir(parents=True)
        for name in order:
            (tmp_path / folder / "sub" / name).write_text(name)
    assert sha(tmp_path / "up") == sha(tmp_path / "down")


def test_times_and_permissions_do_not_matter(tree: Path) -> None:
    before = sha(tree)
    os.utime(tree / "z.txt", (1, 1))
    (tree / "z.txt").chmod(0o600)
    assert sha(tree) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "z.txt").write_text("y"),
        lambda root: (root / "z.txt").rename(root / "y.txt"),
        lambda root: (root / "z.txt").rename(root / "a/z.txt"),
        lambda root: (root / "z.txt").unlink(),
        lambda root: (root / "new").write_text(""),
        lambda root: (root / "empty").mkdir(),
        lambda root: (root / "a/b/two.txt").unlink(),
    ],
)
def test_any_change_of_names_contents_or_empty_directories_matters(
    tree: Path, change: Callable[[Path], object]
) -> None:
    before = sha(tree)
    change(tree)
    assert sha(tree) != before


def test_names_and_contents_cannot_be_mistaken_for_one_another(tmp_path: Path) -> None:
    hashes = []
    for index, files in enumerate(({"a": "bc"}, {"ab": "c"}, {"a": "b", "c": ""}, {"a": "", "bc": ""})):
        root = tmp_path / str(index)
        root.mkdir()
        for name, content in files.items():
            (root / name).write_text(content)
        hashes.append(sha(root))
    assert len(set(hashes)) == len(hashes)


def test_an_empty_file_and_an_empty_directory_differ(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/x").write_text("")
    (tmp_path / "two/x").mkdir(parents=True)
    (tmp_path / "three").mkdir()
    assert len({sha(tmp_path / name) for name in ("one/x", "two/x", "one", "two", "three")}) == 4
    assert sha(tmp_path / "two/x") == sha(tmp_path / "three")


def test_a_file_is_told_by_name_and_content(tmp_path: Path) -> None:
    for name in ("a/f", "b/f", "b/g"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("same")
    assert sha(tmp_path / "a/f") == sha(tmp_path / "b/f") != sha(tmp_path / "b/g")


def test_links_to_files_are_read_and_links_to_directories_are_not_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("linked")
    (tree / "file_link").symlink_to(tmp_path / "outside.txt")
    (tree / "dir_link").symlink_to(tree / "a")
    (tree / "loop").symlink_to(tree)
    (tree / "broken").symlink_to("nowhere")
    (tree / "itself").symlink_to("itself")
    os.mkfifo(tree / "fifo")
    assert names(tree) == ["a/b/two.txt", "a/one.txt", "file_link", "z.txt"]
    before = sha(tree)
    (tmp_path / "outside.txt").write_text("changed")
    assert sha(tree) != before


def test_a_directory_whose_every_child_does_not_count_is_empty(tree: Path) -> None:
    (tree / "only_links").mkdir()
    (tree / "only_links/loop").symlink_to(tree)
    assert list_tree(tree).found.empty == ("only_links",)


def test_a_root_that_is_a_link_is_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tree)
    assert sha(tmp_path / "alias") == sha(tree)


def test_names_that_are_no_text_are_hashed_and_sorted_by_their_bytes(tmp_path: Path) -> None:
    found = [b"\xff", b"\xc3\xa9", b"a", b"\xef\xbc\xa1"]
    for name in found:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x")
    assert [os.fsencode(name) for name in names(tmp_path)] == sorted(found)
    assert len(sha(tmp_path)) == 64


def test_size_and_number_of_files_are_counted(tree: Path) -> None:
    (tree / "empty").mkdir()
    digest = hash_path(tree).digest
    assert (digest.size_bytes, digest.file_count) == (7, 3)
    digest = hash_path(tree / "z.txt").digest
    assert (digest.size_bytes, digest.file_count) == (1, 1)


def test_no_file_is_held_whole(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as stream:
        stream.truncate(64 * 1024**2)
    tracemalloc.start()
    try:
        hash_path(large)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024**2


def test_what_cannot_be_read_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", refuse)
        with pytest.raises(PackagingError, match=r"the file .*two\.txt cannot be read: Permission denied"):
            hash_path(tree)
    listed = list_tree(tree)
    (tree / "z.txt").unlink()
    os.mkfifo(tree / "z.txt")
    with pytest.raises(PackagingError, match=r"z\.txt cannot be read: it is no regular file any more"):
        hash_tree(listed)
    with pytest.raises(PackagingError, match=r"absent cannot be looked at: No such file"):
        hash_path(tree / "absent")
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        with pytest.raises(PackagingError, match=r"the directory .*tree cannot be read: Permission denied"):
            hash_path(tree)


# After an earlier time


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each file whose content is read."""
    noted: list[str] = []
    original = os.open

    def noting(path: str, flags: int, *rest: Any, **options: Any) -> int:
        if not flags & os.O_DIRECTORY:
            noted.append(Path(path).name)
        return original(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", noting)
    return noted


def settled(path: Path) -> Tree:
    """List a tree as if all in it had been written long ago."""
    tree = list_tree(path)
    return attrs.evolve(tree, started_ns=tree.started_ns + 2 * RACY_NS)


def test_what_did_not_change_is_not_read_again(tree: Path, opened: list[str]) -> None:
    earlier = hash_tree(settled(tree))
    assert sorted(opened) == ["one.txt", "two.txt", "z.txt"]
    opened.clear()
    assert hash_tree(list_tree(tree), earlier=earlier) is earlier
    assert opened == []


def test_only_what_changed_is_read_and_what_is_gone_is_forgotten(tree: Path, opened: list[str]) -> None:
    earlier = hash_tree(settled(tree))
    opened.clear()
    (tree / "a/one.txt").write_text("another")
    (tree / "new.txt").write_text("new")
    (tree / "z.txt").unlink()
    opened.clear()
    now = hash_tree(list_tree(tree), earlier=earlier)
    assert sorted(opened) == ["new.txt", "one.txt"]
    assert now.digest == hash_path(tree).digest
    assert now.digest.file_count == 3


def test_what_was_written_just_before_it_was_hashed_is_read_once_more(tree: Path, opened: list[str]) -> None:
    earlier = hash_path(tree)
    opened.clear()
    again = hash_tree(settled(tree), earlier=earlier)
    assert sorted(opened) == ["one.txt", "two.txt", "z.txt"]
    opened.clear()
    assert hash_tree(list_tree(tree), earlier=again) is again
    assert opened == []


def test_a_file_and_a_directory_are_told_apart_whatever_was_hashed_earlier(tree: Path) -> None:
    (tree / "a/only").mkdir()
    (tree / "a/only/z.txt").write_text("z")
    (tree / "a/only/z.txt").replace(tree / "a/only/same")
    of_folder = hash_tree(settled(tree / "a/only"))
    of_file = hash_tree(list_tree(tree / "a/only/same"), earlier=of_folder)
    assert of_file.digest == hash_path(tree / "a/only/same").digest != of_folder.digest


def test_long_files_are_hashed_by_threads_and_the_same(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}").write_bytes(os.urandom(1 << 20) if number else b"short")
    with own_threads() as threads:
        assert hash_tree(list_tree(tmp_path), threads=3).digest == hash_path(tmp_path).digest
    assert threads.alive == []


def test_an_index_that_is_damaged_or_of_another_version_is_not_used(tree: Path) -> None:
    data = hash_tree(settled(tree)).to_bytes()
    assert Hashed.from_bytes(data) is not None
    for damaged in (b"", data[:-1], data[:40] + b"\0" + data[41:], data.replace(b"hashes 2", b"hashes 1")):
        assert Hashed.from_bytes(damaged) is None


# Between hashing and uploading


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "z.txt").write_text("y"),
        lambda root: (root / "z.txt").write_text("longer"),
        lambda root: (root / "z.txt").rename(root / "y.txt"),
        lambda root: (root / "z.txt").unlink(),
        lambda root: (root / "empty").mkdir(),
        lambda root: (root.rename(root.with_name("away")), root.write_text("a file")),
    ],
)
@pytest.mark.parametrize("look", [list_tree, settled])
def test_what_does_not_hold_the_same_any_more_is_told(
    tree: Path, change: Callable[[Path], object], look: Callable[[Path], Tree]
) -> None:
    hashed = hash_tree(look(tree))
    assert still_holds(tree, hashed)
    let_time_pass(tree.parent)
    change(tree)
    assert not still_holds(tree, hashed)


def test_what_holds_the_same_is_not_read_again_but_where_its_times_say_nothing(tree: Path, opened: list[str]) -> None:
    old, fresh = hash_tree(settled(tree)), hash_path(tree)
    (tree / "z.txt").chmod(0o600)
    opened.clear()
    assert still_holds(tree, old)
    assert opened == ["z.txt"]
    opened.clear()
    assert still_holds(tree, fresh)
    assert sorted(opened) == ["one.txt", "two.txt", "z.txt"]


def test_a_link_into_what_is_closed_is_an_error_not_a_gap(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        name = "link"

        def is_dir(self, **_: bool) -> bool:
            return False

        def is_file(self, *, follow_symlinks: bool = True) -> bool:
            if follow_symlinks:
                raise PermissionError(13, "Permission denied")
            return False

    monkeypatch.setattr(os, "scandir", lambda _: contextlib.nullcontext([Closed()]))
    with pytest.raises(PackagingError, match="cannot be read: Permission denied"):
        list_tree(tree)
