import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.rules import RuleSet, builtin_rules, data_rules
from kinetic_core.packaging.scan import scan
from kinetic_runner.entries import checked_path
from tests.unit.kinetic_core.packaging.trees import (
    NO_RULES,
    entry_names,
    globs,
    grow,
    names,
    skipped,
    unprivileged_folder,
)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record each directory that is listed."""
    calls: list[str] = []
    scandir: Any = os.scandir

    def recording(directory: int) -> Any:
        calls.append(str(Path(f"/dev/fd/{directory}").readlink()))
        return scandir(directory)

    monkeypatch.setattr(os, "scandir", recording)
    return iter([calls])


def test_files_are_listed_relative_to_the_root_and_sorted(tmp_path: Path) -> None:
    grow(tmp_path, {"b.py": "", "a/z.py": "", "a/b/c.py": "", "a.py": "", "a-b": "", "Z": "", "é": ""})
    assert names(tmp_path) == ["Z", "a-b", "a.py", "a/b/c.py", "a/z.py", "b.py", "é"]


def test_the_listing_knows_path_and_stat_of_each_file(tmp_path: Path) -> None:
    grow(tmp_path, {"a/b.py": "12345"})
    (entry,) = scan(tmp_path, NO_RULES).entries
    assert (entry.path, entry.size_bytes) == (str(tmp_path / "a" / "b.py"), 5)


def test_the_order_of_creation_makes_no_difference(tmp_path: Path) -> None:
    files = [f"d{number % 7}/f{number}" for number in range(50)]
    links = {"l1": "d1", "l2": "d2", "x": "../out", "y": "../out", "w/z": "../../out"}
    listings = []
    for turn, order in enumerate((files, files[::-1])):
        root = tmp_path / str(turn) / "root"
        grow(root, {**dict.fromkeys(order, ""), "../out/deep/f": "", "w/": ""})
        for name in sorted(links, reverse=bool(turn)):
            (root / name).symlink_to(links[name])
        listings.append((names(root), scan(root, NO_RULES).skipped))
    assert listings[0] == listings[1]


def test_empty_directories_are_listed(tmp_path: Path) -> None:
    grow(tmp_path, {"a/empty/": "", "b/file": ""})
    assert names(tmp_path) == ["a/empty/", "b/file"]


def test_a_directory_whose_every_child_is_excluded_counts_as_empty(tmp_path: Path) -> None:
    grow(tmp_path, {"runs/a.log": "", "runs/sub/b.log": "", "runs/.git/": ""})
    rules = RuleSet.compile([*builtin_rules({}), ExcludeRule(pattern="*.log")])
    assert names(tmp_path, rules) == ["runs/sub/"]
    (tmp_path / "runs" / "sub" / "b.log").unlink()
    (tmp_path / "runs" / "sub").rmdir()
    assert names(tmp_path, rules) == ["runs/"]


def test_a_directory_whose_every_child_was_skipped_counts_as_empty(tmp_path: Path) -> None:
    grow(tmp_path, {"a/": ""})
    (tmp_path / "a" / "gone").symlink_to("nowhere")
    assert names(tmp_path) == ["a/"]


def test_an_empty_root_gives_no_entry(tmp_path: Path) -> None:
    assert names(tmp_path) == []


def test_a_star_excludes_everything(tmp_path: Path) -> None:
    grow(tmp_path, {"a/b": "", "c": "", "d/": ""})
    assert names(tmp_path, globs("*")) == []


def test_a_root_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    for root in (tmp_path / "missing", grow(tmp_path, {"file": ""}) / "file"):
        with pytest.raises(PackagingError, match=str(root)):
            scan(root, NO_RULES)


# Rules


def test_an_excluded_directory_is_never_entered(tmp_path: Path, listed: Iterator[list[str]]) -> None:
    grow(tmp_path, {"node_modules/a/b.js": "", "src/node_modules/c/d.js": "", "src/x.py": ""})
    assert names(tmp_path, RuleSet.compile(builtin_rules({}))) == ["src/x.py"]
    assert next(listed) == [str(tmp_path), str(tmp_path / "src")]


def test_nothing_below_an_excluded_directory_is_warned_of(tmp_path: Path) -> None:
    grow(tmp_path, {"node_modules/closed/": "", os.fsdecode(b"node_modules/bad\xff"): "", "a.py": ""})
    (tmp_path / "node_modules" / "gone").symlink_to("nowhere")
    os.mkfifo(tmp_path / "node_modules" / "pipe")
    (tmp_path / "node_modules" / "closed").chmod(0)
    assert scan(tmp_path, RuleSet.compile(builtin_rules({}))).findings == ()


def test_what_is_excluded_is_not_warned_of_however_broken(tmp_path: Path) -> None:
    (tmp_path / "gone.x").symlink_to("nowhere")
    (tmp_path / os.fsdecode(b"bad\xff.x")).touch()
    os.mkfifo(tmp_path / "pipe.x")
    found = scan(tmp_path, globs("*.x"))
    assert found.findings == ()
    assert [exclusion.name for exclusion in found.exclusions] == ["bad\\xff.x", "gone.x", "pipe.x"]


def test_each_exclusion_has_its_rule_and_each_source_its_count(tmp_path: Path) -> None:
    grow(tmp_path, {"a.log": "", "runs/x": "", "b/.git/y": "", "venv": "", "data/z": "", "kept": ""})
    rules = [
        *builtin_rules({}),
        *data_rules(tmp_path, [tmp_path / "data"]),
        ExcludeRule(pattern="*.log", source="ignore-file"),
        ExcludeRule(pattern="runs", directories_only=True, source="ignore-file"),
        ExcludeRule(pattern="*.dvc", source="plugin:dvc"),
    ]
    found = scan(tmp_path, RuleSet.compile(rules))
    assert [(exclusion.name, exclusion.source, exclusion.rule) for exclusion in found.exclusions] == [
        ("a.log", "ignore-file", "*.log"),
        ("b/.git/", "always", ".git"),
        ("data/", "data", "data"),
        ("runs/", "ignore-file", "runs/"),
        ("venv", "default", "venv"),
    ]
    assert found.excluded_counts == {"always": 1, "default": 1, "data": 1, "ignore-file": 2, "plugin:dvc": 0}


def test_a_rule_for_directories_applies_to_a_link_to_one_but_not_to_a_file(tmp_path: Path) -> None:
    grow(tmp_path, {"out/x": "", "root/runs-file": "", "root/broken/": ""})
    (tmp_path / "root" / "runs-link").symlink_to("../out")
    rules = RuleSet.compile([ExcludeRule(pattern="runs-*", directories_only=True)])
    assert names(tmp_path / "root", rules) == ["broken/", "runs-file"]


def test_the_warning_about_a_rule_comes_with_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fnmatch.translate", lambda pattern: "(")
    found = scan(tmp_path, globs("bad"))
    assert [finding.code for finding in found.findings] == ["rule_uncompilable"]


# Data


def test_data_is_not_shipped_under_the_name_of_a_link_to_it(tmp_path: Path) -> None:
    grow(tmp_path, {"root/data/x": "", "root/keep": "", "elsewhere/y": "", "file": ""})
    (tmp_path / "root" / "link").symlink_to("data")
    (tmp_path / "root" / "out").symlink_to("../elsewhere")
    (tmp_path / "root" / "weights").symlink_to("../file")
    paths = [tmp_path / "root" / "data", tmp_path / "elsewhere", tmp_path / "file"]
    found = scan(tmp_path / "root", RuleSet.compile(data_rules(tmp_path / "root", paths)))
    assert entry_names(found) == ["keep"]
    assert [exclusion.name for exclusion in found.exclusions] == ["data/", "link/", "out/", "weights"]
    assert found.excluded_counts == {"data": 4}


def test_data_below_a_followed_link_is_not_shipped(tmp_path: Path) -> None:
    grow(tmp_path, {"root/": "", "elsewhere/data/x": "", "elsewhere/y": ""})
    (tmp_path / "root" / "link").symlink_to("../elsewhere")
    rules = RuleSet.compile(data_rules(tmp_path / "root", [tmp_path / "elsewhere" / "data"]))
    assert names(tmp_path / "root", rules) == ["link/y"]


def test_a_hard_link_to_a_data_file_is_a_file_of_its_own(tmp_path: Path) -> None:
    grow(tmp_path, {"root/": "", "weights": "w"})
    os.link(tmp_path / "weights", tmp_path / "root" / "copy")
    rules = RuleSet.compile(data_rules(tmp_path / "root", [tmp_path / "weights"]))
    assert names(tmp_path / "root", rules) == ["copy"]


def test_data_that_does_not_exist_harms_nothing(tmp_path: Path) -> None:
    grow(tmp_path, {"a": ""})
    assert names(tmp_path, RuleSet.compile(data_rules(tmp_path, [tmp_path / "gone"]))) == ["a"]


# What cannot ship


def test_a_broken_link_and_a_link_to_itself_are_skipped_with_a_warning_each(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "self").symlink_to("self")
    found = scan(tmp_path, NO_RULES)
    assert entry_names(found) == []
    assert skipped(found) == {"gone": "broken_link", "self": "broken_link"}


def test_an_unreadable_directory_is_skipped_with_a_warning() -> None:
    with unprivileged_folder() as folder:
        grow(folder, {"closed/x": "", "open/x": ""})
        (folder / "link").symlink_to("closed/x")
        (folder / "closed").chmod(0)
        found = scan(folder, NO_RULES)
        (folder / "closed").chmod(0o700)
    assert entry_names(found) == ["open/x"]
    assert skipped(found) == {"closed/": "unreadable", "link": "broken_link"}


def test_files_in_a_directory_that_may_be_listed_but_not_entered_are_skipped() -> None:
    with unprivileged_folder() as folder:
        grow(folder, {"half/x": "", "half/sub/": ""})
        (folder / "half").chmod(0o400)
        found = scan(folder, NO_RULES)
        (folder / "half").chmod(0o700)
    assert entry_names(found) == ["half/"]
    assert skipped(found) == {"half/sub/": "unreadable", "half/x": "unreadable"}


def test_names_that_cannot_be_encoded_are_skipped_with_a_printable_warning(tmp_path: Path) -> None:
    grow(tmp_path, {os.fsdecode(b"bad\xff.txt"): "", os.fsdecode(b"dir\xfe/inside"): "", "good": ""})
    found = scan(tmp_path, NO_RULES)
    assert entry_names(found) == ["good"]
    assert skipped(found) == {"bad\\xff.txt": "name_undecodable", "dir\\xfe/": "name_undecodable"}
    assert all(finding.message.isprintable() for finding in found.findings)


def test_odd_but_encodable_names_are_listed_as_they_are(tmp_path: Path) -> None:
    odd = ["naïve-日本.txt", "back\\slash", "new\nline", " blank ", "...", "c", "1:2", "dir/c:d", "ab:c"]
    grow(tmp_path, dict.fromkeys(odd, ""))
    assert names(tmp_path) == sorted(odd)


@pytest.mark.parametrize("name", ["\\top", "a\\..\\b", "..\\b", "C:", "c:x", "dir/..\\x", "dir/a\\..", "c:/inside"])
def test_names_that_the_runner_refuses_are_skipped_with_a_warning(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="leads out"):
        checked_path(name)
    grow(tmp_path, {name: "", "good": ""})
    found = scan(tmp_path, NO_RULES)
    assert [entry for entry in entry_names(found) if entry != "dir/"] == ["good"]
    assert list(skipped(found).values()) == ["name_unsafe"]


def test_pipes_sockets_and_devices_are_skipped_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    here = os.open(".", os.O_RDONLY)
    try:
        # The path of a socket may have 108 bytes at most.
        os.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("sock")
    finally:
        os.fchdir(here)
        os.close(here)
    found = scan(tmp_path, NO_RULES)
    assert entry_names(found) == []
    assert skipped(found) == {"null": "special_file", "pipe": "special_file", "sock": "special_file"}
    assert [entry.reason.split(",")[0] for entry in found.skipped] == [
        "it is a device",
        "it is a FIFO",
        "it is a socket",
    ]


# Reserved and avoided


def test_a_projects_own_plan_is_left_out_and_its_neighbour_ships(tmp_path: Path) -> None:
    grow(tmp_path, {".kinetic/plan.json": "", ".kinetic/other.txt": "", "sub/.kinetic/plan.json": ""})
    found = scan(tmp_path, NO_RULES)
    assert entry_names(found) == [".kinetic/other.txt", "sub/.kinetic/plan.json"]
    assert found.findings == ()


def test_the_plans_directory_needs_no_entry_of_its_own(tmp_path: Path) -> None:
    grow(tmp_path, {".kinetic/plan.json/": ""})
    assert names(tmp_path) == []


def test_a_file_in_the_place_of_the_plans_directory_is_skipped_with_a_warning(tmp_path: Path) -> None:
    grow(tmp_path, {".kinetic": ""})
    found = scan(tmp_path, NO_RULES)
    assert entry_names(found) == []
    assert skipped(found) == {".kinetic": "name_reserved"}


def test_temporary_output_inside_the_project_is_never_listed(tmp_path: Path, listed: Iterator[list[str]]) -> None:
    grow(tmp_path, {"tmp/job/payload.pkl": "", "tmp/other": "", "out.zip": "", "a": ""})
    (tmp_path / "alias").symlink_to("tmp/job")
    avoid = [tmp_path / "tmp" / "job", tmp_path / "out.zip", tmp_path / "not-there"]
    found = scan(tmp_path, NO_RULES, avoid=avoid)
    assert entry_names(found) == ["a", "tmp/other"]
    assert (found.findings, found.exclusions) == ((), ())
    assert str(tmp_path / "tmp" / "job") not in next(listed)


# Sizes


def test_sizes_are_known_for_the_whole_and_for_each_directory(tmp_path: Path) -> None:
    grow(tmp_path, {"a/b/x": "123", "a/y": "12", "z": "1", "a/empty/": ""})
    found = scan(tmp_path, NO_RULES)
    assert (found.size_bytes, found.file_count) == (6, 3)
    assert found.tree_sizes == {"": 6, "a": 5, "a/b": 3, "a/empty": 0}
