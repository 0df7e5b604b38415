import fnmatch
import re
from pathlib import Path

import pytest

from kinetic_core.findings import Severity
from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.rules import (
    ALWAYS_NAMES,
    DEFAULT_NAMES,
    RuleSet,
    builtin_rules,
    compile_glob,
    data_rules,
    default_rules,
)
from tests.unit.kinetic_core.packaging.trees import globs, grow, names

SPECIFIED_DEFAULTS = [
    ".venv",
    "venv",
    "node_modules",
    ".tox",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".ipynb_checkpoints",
    ".DS_Store",
]


def excluded(rules: RuleSet, rel: str, *, is_dir: bool = False) -> bool:
    return rules.match(rel, rel.rpartition("/")[2], is_dir) is not None


def test_git_and_bytecode_directories_are_always_out_at_any_depth() -> None:
    rules = RuleSet.compile(builtin_rules({"KINETIC_NO_DEFAULT_EXCLUDES": "1"}))
    assert set(ALWAYS_NAMES) == {".git", "__pycache__"}
    for name in ALWAYS_NAMES:
        for rel in (name, f"a/b/{name}"):
            found = rules.match(rel, name, is_dir=True)
            assert found is not None
            assert found.source == "always"


def test_a_file_of_gits_name_ships_for_only_directories_are_always_out() -> None:
    assert not excluded(RuleSet.compile(builtin_rules({})), "sub/.git")


def test_the_default_names_are_out_as_files_and_as_directories_at_any_depth() -> None:
    rules = RuleSet.compile(builtin_rules({}))
    assert list(DEFAULT_NAMES) == SPECIFIED_DEFAULTS
    for name in SPECIFIED_DEFAULTS:
        for rel in (name, f"a/b/{name}"):
            for is_dir in (True, False):
                found = rules.match(rel, name, is_dir)
                assert found is not None
                assert found.source == "default"


@pytest.mark.parametrize("value", ["", "0", "true", " 1", "1 ", "01", "yes"])
def test_nothing_but_exactly_1_turns_the_default_names_on(value: str) -> None:
    assert default_rules({"KINETIC_NO_DEFAULT_EXCLUDES": value}) == default_rules({}) != ()


def test_1_turns_only_the_default_names_off() -> None:
    rules = builtin_rules({"KINETIC_NO_DEFAULT_EXCLUDES": "1"})
    assert {rule.source for rule in rules} == {"always"}


@pytest.mark.parametrize(
    ("pattern", "rel", "expected"),
    [
        ("*.ckpt", "a.ckpt", True),
        ("*.ckpt", "deep/down/a.ckpt", True),
        ("*.ckpt", "a.ckpt.txt", False),
        ("data", "data", True),
        ("data", "deep/data", True),
        ("data", "data2", False),
        ("a/b", "a/b", True),
        ("a/b", "x/a/b", False),
        ("*/b", "x/a/b", True),
        ("a*c", "a/b/c", True),
        ("a?c", "a/c", True),
        ("[ab].py", "x/a.py", True),
        ("[!ab].py", "x/c.py", True),
        ("[!ab].py", "x/a.py", False),
        ("x[!ab]a.py", "x/a.py", True),
        ("*", "anything/at/all", True),
        ("A.py", "a.py", False),
        ("!keep", "keep", False),
        ("!keep", "!keep", True),
        ("a.b", "aXb", False),
        ("(x|y)", "x", False),
        ("**/x", "a/x", True),
        ("x[", "x[", True),
        ("*[", "x[", True),
        ("line\nend", "line\nend", True),
        ("end", "end\n", False),
    ],
)
def test_a_glob_is_fnmatch_on_the_path_and_on_the_last_name(pattern: str, rel: str, *, expected: bool) -> None:
    name = rel.rpartition("/")[2]
    naive = fnmatch.fnmatchcase(rel, pattern) or fnmatch.fnmatchcase(name, pattern)
    assert excluded(globs(pattern), rel) is naive is expected


def test_a_name_is_no_pattern() -> None:
    rules = RuleSet.compile([ExcludeRule(pattern="*.py", kind="name")])
    assert excluded(rules, "a/*.py")
    assert not excluded(rules, "a/b.py")


def test_a_path_excludes_itself_and_all_below_it_and_nothing_beside_it() -> None:
    rules = RuleSet.compile([ExcludeRule(pattern="a/b", kind="path")])
    assert [excluded(rules, rel) for rel in ("a/b", "a/b/c", "a/b/c/d", "a", "a/bc", "x/a/b")] == [True] * 3 + [
        False
    ] * 3


@pytest.mark.parametrize("kind", ["name", "glob", "path"])
def test_a_rule_for_directories_leaves_files_alone(kind: str) -> None:
    rule = ExcludeRule(pattern="runs", kind=kind, directories_only=True)  # type: ignore[arg-type] # one of three texts
    assert excluded(RuleSet.compile([rule]), "runs", is_dir=True)
    assert not excluded(RuleSet.compile([rule]), "runs")


def test_the_first_rule_that_matches_is_the_one_told() -> None:
    rules = RuleSet.compile(
        [
            ExcludeRule(pattern="x.*", source="a", directories_only=True),
            ExcludeRule(pattern="*.log", source="b"),
            ExcludeRule(pattern="x.log", kind="name", source="c"),
        ]
    )
    as_file, as_directory = rules.match("x.log", "x.log", is_dir=False), rules.match("x.log", "x.log", is_dir=True)
    assert as_file is not None
    assert as_directory is not None
    assert (as_file.source, as_directory.source) == ("b", "a")


@pytest.mark.parametrize(
    ("rule", "directory"),
    [
        (ExcludeRule(pattern="b.py", kind="name"), "d"),
        (ExcludeRule(pattern="d/b.py", kind="path"), "d"),
        (ExcludeRule(pattern="b.py", kind="path"), ""),
        (ExcludeRule(pattern="d/b.py"), "d"),
        (ExcludeRule(pattern="*.py"), "d"),
        (ExcludeRule(pattern="b.*"), "d"),
        (ExcludeRule(pattern="d*b.py"), "d"),
        (ExcludeRule(pattern="*/b.p?"), "d"),
    ],
)
def test_a_directory_is_asked_as_a_whole_before_its_files_are(rule: ExcludeRule, directory: str) -> None:
    rules = RuleSet.compile([rule])
    assert not rules.keeps_every_file(directory, ["a", "b.py", "c"])
    assert rules.keeps_every_file(directory, ["a", "c"])
    assert rules.keeps_every_file("elsewhere/d", ["a", "c"])


def test_every_source_is_known_though_its_rules_match_nothing() -> None:
    assert globs("x", source="plugin:dvc").sources == ("plugin:dvc",)


def test_no_rules_exclude_nothing() -> None:
    assert not excluded(RuleSet.compile([]), "a/b")


def test_a_pattern_that_cannot_be_compiled_is_left_out_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    translate = fnmatch.translate
    # Every pattern compiles on the Pythons of today; older and later ones may differ.
    monkeypatch.setattr(fnmatch, "translate", lambda pattern: "(" if pattern == "bad*" else translate(pattern))
    assert compile_glob("bad*") is None
    rules = RuleSet.compile([ExcludeRule(pattern="bad*", source="plugin:x"), ExcludeRule(pattern="good*")])
    assert excluded(rules, "good.py")
    assert not excluded(rules, "bad.py")
    (finding,) = rules.findings
    assert (finding.code, finding.severity) == ("rule_uncompilable", Severity.WARNING)
    assert "plugin:x" in finding.message
    assert "bad*" in finding.message


def test_a_name_or_path_is_never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> str:
        raise re.error("no")

    monkeypatch.setattr(fnmatch, "translate", refuse)
    rules = RuleSet.compile([ExcludeRule(pattern="a*", kind="name"), ExcludeRule(pattern="b*", kind="path")])
    assert len(rules.rules) == 2


def test_data_under_the_root_is_out_by_its_path(tmp_path: Path) -> None:
    (rule,) = data_rules(tmp_path, [tmp_path / "big" / "data", tmp_path / "big" / "data"])
    assert (rule.pattern, rule.kind, rule.source) == ("big/data", "path", "data")


def test_data_is_out_through_every_spelling_of_its_path(tmp_path: Path) -> None:
    (tmp_path / "root" / "real").mkdir(parents=True)
    (tmp_path / "root" / "link").symlink_to("real")
    (tmp_path / "alias").symlink_to("root")
    for spelled in ("root/link", "alias/link"):
        assert {rule.pattern for rule in data_rules(tmp_path / "root", [tmp_path / spelled])} == {"real", "link"}


def test_data_outside_the_root_is_named_by_its_absolute_path(tmp_path: Path) -> None:
    (rule,) = data_rules(tmp_path / "root", [tmp_path / "data"])
    assert rule.pattern == str(tmp_path / "data")


def test_data_that_is_the_root_or_holds_it_excludes_nothing(tmp_path: Path) -> None:
    assert data_rules(tmp_path / "root", [tmp_path / "root", tmp_path]) == ()


def test_a_root_below_directories_of_excluded_names_ships_whole(tmp_path: Path) -> None:
    root = grow(
        tmp_path / "venv/.tox/node_modules/data/proj", {"train.py": "", "sub/x.txt": "", "data/x": "", "venv": ""}
    )
    rules = [*builtin_rules({}), *data_rules(root, [root.parent / "other", root / "data"]), ExcludeRule(pattern="tox")]
    assert names(root, RuleSet.compile(rules)) == ["sub/x.txt", "train.py"]
