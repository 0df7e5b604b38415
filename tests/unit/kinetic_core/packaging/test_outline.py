"""A second look at a tree: when the names need not be listed again, and when they must be."""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic_core.model.rule import ExcludeRule
from kinetic_core.model.trust import RACY_NS
from kinetic_core.packaging.archive import write_archive
from kinetic_core.packaging.rules import RuleSet, builtin_rules, data_rules
from kinetic_core.packaging.scan import Scan, scan
from kinetic_core.packaging.snapshot import Snapshot
from tests.unit.kinetic_core.packaging.archives import PLAN
from tests.unit.kinetic_core.packaging.trees import NO_RULES, globs, grow

FILES = {f"d{number % 5}/f{number}": "x" for number in range(40)} | {"a": "a", "é/naïve": "n"}


def packaged(root: Path, rules: RuleSet = NO_RULES, *, avoid: Collection[Path] = ()) -> Snapshot:
    """Package as if everything had lain there for long."""
    found = scan(root, rules, avoid=avoid)
    found = attrs.evolve(found, started_ns=found.started_ns + 2 * RACY_NS)
    return write_archive(found, PLAN, root.with_name("first.zip")).snapshot


def is_listed_again(root: Path, earlier: Snapshot, rules: RuleSet = NO_RULES, *, avoid: Collection[Path] = ()) -> bool:
    """Tell whether a scan listed directories, checking that it found what a scan finds that knows nothing."""
    found, afresh = scan(root, rules, avoid=avoid, earlier=earlier), scan(root, rules, avoid=avoid)
    assert without_time(found) == without_time(afresh)
    return found.outline is not earlier.outline or earlier.outline is None


def without_time(found: Scan) -> Scan:
    return attrs.evolve(found, outline=None, started_ns=0)


def edit(root: Path) -> None:
    (root / "d1/f1").write_text("edited")


def touch(root: Path) -> None:
    os.utime(root / "a", (1, 1))


@pytest.mark.parametrize("change", [lambda _: None, edit, touch], ids=["nothing", "edit", "touch"])
def test_where_no_name_came_or_went_nothing_is_listed(root: Path, change: Callable[[Path], object]) -> None:
    earlier = packaged(grow(root, FILES))
    change(root)
    assert not is_listed_again(root, earlier)


def test_a_second_look_costs_one_look_a_file_and_a_directory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(root, {**FILES, "node_modules/p/x.js": "", ".venv/y": ""})
    rules = RuleSet.compile(builtin_rules({}))
    earlier = packaged(root, rules)
    calls: list[str] = []

    def counted(name: str) -> Any:
        real: Any = getattr(os, name)

        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            return real(path, *args, **kwargs)

        return call

    with monkeypatch.context() as patched:
        for name in ("open", "scandir", "listdir", "stat", "lstat"):
            patched.setattr(os, name, counted(name))
        found = scan(root, rules, earlier=earlier)
    assert found.outline is earlier.outline
    # The root, and what leads there, is asked for a few times more.
    assert calls.count("stat") == len(FILES) + 7
    assert len(calls) - calls.count("stat") <= len(root.parts)


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "d1/new").touch(),
        lambda root: (root / "a").unlink(),
        lambda root: (root / "a").rename(root / "b"),
        lambda root: (root / "a").rename(root / "d1/a"),
        lambda root: (root / "d1/sub").mkdir(),
        lambda root: (root / "d1").rename(root / "d9"),
        lambda root: (root / "d1").chmod(0o700),
        lambda root: (root / "link").symlink_to("a"),
        lambda root: (root / "d1").rename(root.with_name("elsewhere")) and (root / "d1").symlink_to("../elsewhere"),
    ],
    ids=["came", "went", "renamed", "moved", "folder", "renamed folder", "mode", "link", "folder to link"],
)
def test_where_a_name_came_or_went_the_tree_is_listed_again(root: Path, change: Callable[[Path], object]) -> None:
    earlier = packaged(grow(root, FILES))
    change(root)
    assert is_listed_again(root, earlier)


def test_a_directory_that_changed_just_before_the_scan_is_not_believed(root: Path) -> None:
    grow(root, FILES)
    earlier = write_archive(scan(root, NO_RULES), PLAN, root.with_name("first.zip")).snapshot
    assert is_listed_again(root, earlier)


def test_a_directory_without_times_tells_nothing(root: Path) -> None:
    """The root of a FAT file system has the same time always."""
    grow(root, FILES)
    os.utime(root, (0, 0))
    assert packaged(root).outline is None


@pytest.mark.parametrize("rules", [globs("d1"), globs("*1", source="plugin:x"), RuleSet.compile(builtin_rules({}))])
def test_other_rules_are_asked_of_every_name(root: Path, rules: RuleSet) -> None:
    earlier = packaged(grow(root, FILES))
    assert is_listed_again(root, earlier, rules)


def test_what_rules_kept_out_is_told_again(root: Path) -> None:
    grow(root, {**FILES, ".git/x": "", "b.ckpt": ""})
    rules = RuleSet.compile([*builtin_rules({}), ExcludeRule(pattern="*.ckpt", source="ignore-file")])
    assert not is_listed_again(root, packaged(root, rules), rules)


# Links


def test_of_a_link_to_a_file_it_is_the_file_that_is_looked_at(root: Path) -> None:
    outside = root.with_name("outside")
    outside.write_text("outside")
    grow(root, FILES)
    (root / "link").symlink_to(outside)
    earlier = packaged(root)
    assert not is_listed_again(root, earlier)
    outside.write_text("outside, edited")
    assert not is_listed_again(root, earlier)
    assert scan(root, NO_RULES, earlier=earlier).listing != earlier.listing


@pytest.mark.parametrize("becomes", ["nothing", "directory", "fifo"])
def test_a_link_that_leads_to_no_file_any_more_is_left_to_the_scan(root: Path, becomes: str) -> None:
    outside = root.with_name("outside")
    outside.write_text("outside")
    grow(root, FILES)
    (root / "link").symlink_to(outside)
    earlier = packaged(root)
    outside.unlink()
    if becomes != "nothing":
        outside.mkdir() if becomes == "directory" else os.mkfifo(outside)
    assert is_listed_again(root, earlier)


def test_links_to_directories_are_followed_anew_each_time(root: Path) -> None:
    grow(root, FILES)
    grow(root.with_name("outside"), {"x": "x"})
    (root / "link").symlink_to("../outside")
    earlier = packaged(root)
    grow(root.with_name("outside"), {"y": "y"})
    assert is_listed_again(root, earlier)


def test_what_could_not_ship_is_told_each_time(root: Path) -> None:
    grow(root, FILES)
    (root / "broken").symlink_to("nowhere")
    assert is_listed_again(root, packaged(root))


# What ships under no name


def test_data_in_the_tree_stays_out(root: Path) -> None:
    grow(root, {**FILES, "data/big": "b"})
    rules = RuleSet.compile(data_rules(root, [root / "data"]))
    earlier = packaged(root, rules)
    assert not is_listed_again(root, earlier, rules)
    assert is_listed_again(root, earlier)


@pytest.mark.parametrize(("first", "then"), [("other.bin", "data.bin"), ("data.bin", "other.bin")])
def test_a_link_that_leads_to_data_now_or_no_more_is_left_to_the_scan(root: Path, first: str, then: str) -> None:
    beside = root.parent
    grow(beside, {"data.bin": "data", "other.bin": "other"})
    (beside / "between").symlink_to(first)
    grow(root, FILES)
    (root / "link").symlink_to("../between")
    rules = RuleSet.compile(data_rules(root, [beside / "data.bin"]))
    earlier = packaged(root, rules)
    assert not is_listed_again(root, earlier, rules)
    (beside / "between").unlink()
    (beside / "between").symlink_to(then)
    assert is_listed_again(root, earlier, rules)


def test_a_link_that_a_rule_for_directories_keeps_out_is_found_when_it_leads_to_a_file(root: Path) -> None:
    outside = root.with_name("outside")
    outside.mkdir()
    grow(root, FILES)
    (root / "link").symlink_to(outside)
    rules = RuleSet.compile([ExcludeRule(pattern="link", directories_only=True, source="ignore-file")])
    earlier = packaged(root, rules)
    assert not is_listed_again(root, earlier, rules)
    outside.rmdir()
    outside.write_text("a file")
    assert is_listed_again(root, earlier, rules)


@pytest.mark.parametrize("first", ["directory", "file", "nothing"])
def test_a_link_that_any_rule_keeps_out_is_told_as_what_it_is_now(root: Path, first: str) -> None:
    outside = root.with_name("outside")
    if first != "nothing":
        outside.mkdir() if first == "directory" else outside.touch()
    grow(root, FILES)
    (root / "link").symlink_to(outside)
    rules = globs("link")
    earlier = packaged(root, rules)
    assert is_listed_again(root, earlier, rules) == (first == "nothing")
    if first != "nothing":
        outside.rmdir() if first == "directory" else outside.unlink()
    outside.touch() if first == "directory" else outside.mkdir()
    assert is_listed_again(root, earlier, rules)


def test_a_link_to_what_is_avoided_is_followed_when_that_is_avoided_no_more(root: Path) -> None:
    store = root.with_name("store")
    grow(store, {"x": "x"})
    grow(root, FILES)
    (root / "link").symlink_to(store)
    assert is_listed_again(root, packaged(root, avoid=[store]))


def test_a_file_to_avoid_that_a_link_leads_to_counts_too(root: Path) -> None:
    outside = root.with_name("outside")
    outside.touch()
    grow(root, FILES)
    (root / "link").symlink_to(outside)
    assert is_listed_again(root, packaged(root), avoid=[outside])


def test_what_is_avoided_in_the_tree_counts_and_elsewhere_does_not(root: Path) -> None:
    grow(root, {**FILES, "store/x": "x"})
    earlier = packaged(root, avoid=[root / "store", root.parent / "job1"])
    assert not is_listed_again(root, earlier, avoid=[root.parent / "job2", root / "store"])
    assert is_listed_again(root, earlier, avoid=[root.parent / "job1"])
    assert is_listed_again(root, earlier, avoid=[root / "store", root / "d1"])


def test_a_file_to_avoid_that_has_another_name_in_the_tree_counts_too(root: Path) -> None:
    grow(root, FILES)
    outside = root.with_name("outside")
    outside.hardlink_to(root / "a")
    assert is_listed_again(root, packaged(root), avoid=[outside])


# What a listing alone does not hold


def test_a_file_that_could_not_be_read_is_looked_for_again(root: Path) -> None:
    grow(root, FILES)
    found = scan(root, NO_RULES)
    (root / "a").unlink()
    written = write_archive(found, PLAN, root.with_name("first.zip"))
    assert written.snapshot.outline is None


def test_an_archive_in_the_tree_is_found_when_another_is_written(root: Path) -> None:
    grow(root, {**FILES, "context.zip": "old"})
    found = scan(root, NO_RULES)
    written = write_archive(found, PLAN, root / "context.zip")
    assert written.snapshot.outline is None


def test_directories_that_settled_are_believed_from_then_on(root: Path) -> None:
    earlier = packaged(grow(root, FILES))
    (root / "d1").chmod(0o700)
    found = scan(root, NO_RULES, earlier=earlier)
    found = attrs.evolve(found, started_ns=found.started_ns + 2 * RACY_NS)
    written = write_archive(found, PLAN, root.with_name("second.zip"), earlier=earlier)
    assert written.is_earlier
    assert not is_listed_again(root, written.snapshot)


def test_a_time_that_64_bits_do_not_hold_is_told_all_the_same(root: Path) -> None:
    grow(root, FILES)
    os.utime(root / "a", (1, 10**10))
    earlier = packaged(root)
    assert is_listed_again(root, earlier)
    os.utime(root, (1, 10**10))
    assert is_listed_again(root, earlier)
