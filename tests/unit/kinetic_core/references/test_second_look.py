"""A second look at a tree of `Data`: by the names that are known, where nothing else can have come."""

import os
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from kinetic_core.model.listing import NAME
from kinetic_core.model.trust import RACY_NS
from kinetic_core.references.hashing import Hashed, hash_path, hash_tree
from kinetic_core.references.tree import Found, Tree, list_tree, look_again
from tests.property.test_packaging_edits import let_time_pass
from tests.unit.kinetic_core.packaging.trees import grow


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "outside").write_text("outside")
    root = grow(tmp_path / "tree", {"a/b/two": "2", "a/one": "1", "empty/": "", "é": "3"})
    (root / "link").symlink_to(tmp_path / "outside")
    return root


def settled(path: Path) -> Tree:
    """List a tree as if all in it had been written long ago."""
    found = list_tree(path)
    return attrs.evolve(found, started_ns=found.started_ns + 2 * RACY_NS)


def known(path: Path) -> Hashed:
    hashed = hash_tree(settled(path))
    let_time_pass(path.parent)
    return hashed


def looked_at(path: Path, found: Found) -> Found | None:
    again = look_again(path, found)
    return None if again is None else again.found


def test_what_did_not_change_is_found_without_listing_a_directory(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = known(tree).found
    monkeypatch.setattr(os, "scandir", None)
    again = looked_at(tree, found)
    assert again is not None
    assert again.files is found.files
    assert again.names == ["a/b/two", "a/one", "empty", "link", "é"]


@pytest.mark.parametrize("name", ["a/one", "../outside"])
def test_what_was_written_to_is_found_as_it_is_now(tree: Path, name: str) -> None:
    hashed = known(tree)
    (tree / name).write_text("another")
    again = look_again(tree, hashed.found)
    assert again is not None
    assert again.found.files == list_tree(tree).found.files != hashed.found.files
    assert hash_tree(again, earlier=hashed).digest == hash_path(tree).digest != hashed.digest


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "a/b/new").write_text(""),
        lambda root: (root / "a/one").unlink(),
        lambda root: (root / "a/one").rename(root / "a/b/one"),
        lambda root: (root / "empty/new").mkdir(),
        lambda root: (root / "empty").rmdir(),
        lambda root: (root / "a/b").chmod(0o700),
        lambda root: (root.rename(root.with_name("away")), root.write_text("a file")),
        lambda root: (root / "../outside").unlink(),
        lambda root: ((root / "../outside").unlink(), (root / "../outside").mkdir()),
    ],
)
def test_names_that_may_have_come_or_gone_are_left_to_a_listing(tree: Path, change: Callable[[Path], object]) -> None:
    hashed = known(tree)
    change(tree)
    assert look_again(tree, hashed.found) is None
    if tree.is_dir():
        assert hash_tree(list_tree(tree), earlier=hashed).digest == hash_path(tree).digest


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to(path.parent / "a"),
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.symlink_to(path.name),
        os.mkfifo,
    ],
)
def test_a_tree_with_what_does_not_count_is_listed_each_time(tree: Path, make: Callable[[Path], object]) -> None:
    make(tree / "more")
    hashed = known(tree)
    assert hashed.found.names == ["a/b/two", "a/one", "empty", "link", "é"]
    assert look_again(tree, hashed.found) is None


def test_directories_without_a_time_tell_nothing(tree: Path) -> None:
    os.utime(tree / "a", ns=(0, 0))
    assert look_again(tree, known(tree).found) is None


def test_a_directory_that_just_changed_tells_nothing(tree: Path) -> None:
    assert look_again(tree, hash_path(tree).found) is None


def test_names_that_are_no_text_are_listed_each_time(tree: Path) -> None:
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff")).write_text("x")
    hashed = known(tree)
    assert look_again(tree, hashed.found) is None
    assert hash_tree(list_tree(tree), earlier=hashed) is hashed


def test_what_could_not_be_known_the_last_time_is_known_the_next(tree: Path) -> None:
    late = list_tree(tree)
    assert late.found.directories is not None
    young = [(name, status, late.started_ns, late.started_ns) for name, status, _, _ in late.found.directories]
    hashed = known(tree)
    doubtful = attrs.evolve(hashed, found=attrs.evolve(hashed.found, directories=type(late.found.directories)(young)))
    again = hash_tree(settled(tree), earlier=doubtful)
    assert again.digests is hashed.digests
    assert again.found.directories == hashed.found.directories != doubtful.found.directories


def test_a_file_has_no_second_look(tree: Path) -> None:
    hashed = known(tree / "a/one")
    assert [row[NAME] for row in hashed.found.files] == ["one"]
    assert look_again(tree / "a/one", hashed.found) is None


def test_an_index_keeps_what_is_needed_for_it(tree: Path) -> None:
    hashed = known(tree)
    read = Hashed.from_bytes(hashed.to_bytes())
    assert read == hashed
    assert read is not None
    assert look_again(tree, read.found) is not None
    (tree / "more").symlink_to("nowhere")
    hashed = known(tree)
    assert Hashed.from_bytes(hashed.to_bytes()) == hashed
