import os
from pathlib import Path

import pytest

from kinetic_core.packaging.rules import RuleSet, builtin_rules
from kinetic_core.packaging.scan import scan
from tests.unit.kinetic_core.packaging.trees import NO_RULES, entry_names, grow, names, skipped


def test_linked_files_are_listed_as_the_files_they_point_at(tmp_path: Path) -> None:
    grow(tmp_path, {"shared.yaml": "12345", "root/": ""})
    (tmp_path / "root" / "cfg.yaml").symlink_to("../shared.yaml")
    (entry,) = scan(tmp_path / "root", NO_RULES).entries
    assert (entry.name, entry.size_bytes) == ("cfg.yaml", 5)


def test_hard_links_are_listed_each(tmp_path: Path) -> None:
    grow(tmp_path, {"a": "x"})
    os.link(tmp_path / "a", tmp_path / "b")
    assert names(tmp_path) == ["a", "b"]


def test_linked_directories_are_followed(tmp_path: Path) -> None:
    grow(tmp_path, {"elsewhere/sub/x": "", "root/": "", "elsewhere/empty/": ""})
    (tmp_path / "root" / "data").symlink_to("../elsewhere")
    assert names(tmp_path / "root") == ["data/empty/", "data/sub/x"]


def test_a_link_to_an_empty_directory_is_an_empty_directory(tmp_path: Path) -> None:
    grow(tmp_path, {"elsewhere/": "", "root/": ""})
    (tmp_path / "root" / "data").symlink_to("../elsewhere")
    assert names(tmp_path / "root") == ["data/"]


@pytest.mark.parametrize("alias", ["aaa", "zzz", "deep/aaa", "deep/zzz"])
def test_a_real_directory_wins_over_a_link_to_it_wherever_the_two_stand(tmp_path: Path, alias: str) -> None:
    grow(tmp_path, {"mmm/pkg/x.py": "", "deep/": ""})
    (tmp_path / alias).symlink_to(tmp_path / "mmm" / "pkg")
    found = scan(tmp_path, NO_RULES)
    assert "mmm/pkg/x.py" in entry_names(found)
    assert skipped(found) == {f"{alias}/": "directory_repeated"}
    assert "mmm/pkg" in found.skipped[0].reason


def test_of_two_links_to_one_directory_the_nearer_then_the_first_by_name_is_followed(tmp_path: Path) -> None:
    grow(tmp_path, {"elsewhere/x": "", "root/a/": ""})
    for name in ("root/a/near", "root/z", "root/b"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    found = scan(tmp_path / "root", NO_RULES)
    assert entry_names(found) == ["a/", "b/x"]
    assert skipped(found) == {"a/near/": "directory_repeated", "z/": "directory_repeated"}


def test_a_directory_that_is_real_within_a_linked_one_wins_over_a_link_to_it(tmp_path: Path) -> None:
    grow(tmp_path, {"elsewhere/sub/x": "", "root/": ""})
    (tmp_path / "root" / "a").symlink_to("../elsewhere/sub")
    (tmp_path / "root" / "b").symlink_to("../elsewhere")
    found = scan(tmp_path / "root", NO_RULES)
    assert entry_names(found) == ["b/sub/x"]
    assert skipped(found) == {"a/": "directory_repeated"}


@pytest.mark.parametrize("target", [".", "..", "../..", "/"])
def test_a_link_to_the_root_or_to_a_parent_of_it_is_a_cycle(tmp_path: Path, target: str) -> None:
    root = grow(tmp_path / "top" / "root", {"x": ""})
    (root / "loop").symlink_to(target)
    found = scan(root, NO_RULES)
    assert entry_names(found) == ["x"]
    assert skipped(found) == {"loop/": "cycle"}


def test_a_cycle_is_seen_through_a_linked_root_too(tmp_path: Path) -> None:
    grow(tmp_path, {"real/top/root/x": "", "aliases/": ""})
    (tmp_path / "aliases" / "root").symlink_to(tmp_path / "real" / "top" / "root")
    for number, parent in enumerate(("real", "real/top", "aliases")):
        (tmp_path / "real" / "top" / "root" / f"loop{number}").symlink_to(tmp_path / parent)
    found = scan(tmp_path / "aliases" / "root", NO_RULES)
    assert entry_names(found) == ["x"]
    assert set(skipped(found).values()) == {"cycle"}


def test_links_that_lead_in_circles_below_the_root_are_followed_once(tmp_path: Path) -> None:
    grow(tmp_path, {"a/x": "", "b/y": ""})
    (tmp_path / "a" / "to-b").symlink_to("../b")
    (tmp_path / "b" / "to-a").symlink_to("../a")
    (tmp_path / "a" / "self").symlink_to(".")
    found = scan(tmp_path, NO_RULES)
    assert entry_names(found) == ["a/x", "b/y"]
    assert sorted(skipped(found)) == ["a/self/", "a/to-b/", "b/to-a/"]


def test_links_inside_a_linked_directory_are_followed_once(tmp_path: Path) -> None:
    grow(tmp_path, {"one/x": "", "two/y": "", "root/": ""})
    (tmp_path / "one" / "to-two").symlink_to("../two")
    (tmp_path / "two" / "to-one").symlink_to("../one")
    (tmp_path / "root" / "start").symlink_to("../one")
    found = scan(tmp_path / "root", NO_RULES)
    assert entry_names(found) == ["start/to-two/y", "start/x"]
    assert skipped(found) == {"start/to-two/to-one/": "directory_repeated"}


def test_a_link_to_an_excluded_directory_ships_under_the_links_own_name(tmp_path: Path) -> None:
    grow(tmp_path, {"venv/x": ""})
    (tmp_path / "env").symlink_to("venv")
    assert names(tmp_path, RuleSet.compile(builtin_rules({}))) == ["env/x"]
