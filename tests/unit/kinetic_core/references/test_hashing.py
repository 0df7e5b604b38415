import os
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.references.hashing import digest_of, tree_entries


def sha(path: Path) -> str:
    """Return the hash of a path."""
    return digest_of(path).sha256


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
    os.mkfifo(tree / "fifo")
    assert [entry.name for entry in tree_entries(tree)] == ["a/b/two.txt", "a/one.txt", "file_link", "z.txt"]
    before = sha(tree)
    (tmp_path / "outside.txt").write_text("changed")
    assert sha(tree) != before


def test_a_directory_whose_every_child_does_not_count_is_empty(tree: Path) -> None:
    (tree / "only_links").mkdir()
    (tree / "only_links/loop").symlink_to(tree)
    assert [entry.name for entry in tree_entries(tree) if entry.is_dir] == ["only_links"]


def test_a_root_that_is_a_link_is_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tree)
    assert sha(tmp_path / "alias") == sha(tree)


def test_names_that_are_no_text_are_hashed_and_sorted_by_their_bytes(tmp_path: Path) -> None:
    for name in (b"\xff", b"\xc3\xa9", b"a"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x")
    assert [os.fsencode(entry.name) for entry in tree_entries(tmp_path)] == [b"a", b"\xc3\xa9", b"\xff"]
    assert len(sha(tmp_path)) == 64


def test_size_and_number_of_files_are_counted(tree: Path) -> None:
    (tree / "empty").mkdir()
    digest = digest_of(tree)
    assert (digest.size_bytes, digest.file_count) == (7, 3)
    assert (digest_of(tree / "z.txt").size_bytes, digest_of(tree / "z.txt").file_count) == (1, 1)


def test_no_file_is_held_whole(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as stream:
        stream.truncate(64 * 1024**2)
    tracemalloc.start()
    try:
        digest_of(large)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024**2


def test_what_cannot_be_read_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        with pytest.raises(PackagingError, match=r"the file .*two\.txt cannot be read: Permission denied"):
            digest_of(tree)
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        with pytest.raises(PackagingError, match=r"the directory .*tree cannot be read: Permission denied"):
            digest_of(tree)
