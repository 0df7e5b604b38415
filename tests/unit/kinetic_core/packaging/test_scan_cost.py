"""How often the kernel is asked: a look a file, three a directory, none below what a rule excludes."""

import gc
import os
import sys
from collections import Counter
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from kinetic_core.model.rule import ExcludeRule
from kinetic_core.packaging.rules import RuleSet, builtin_rules
from kinetic_core.packaging.scan import scan
from tests.fakes.holding import opened_below
from tests.unit.kinetic_core.packaging.trees import NO_RULES, globs, grow

ASKS = {"open", "scandir", "stat", "lstat", "readlink", "close", "fstat"}


def asked(root: Path, rules: RuleSet = NO_RULES) -> Counter[str]:
    """Count calls that reach the kernel while a tree is scanned, but for what a collector closes meanwhile."""
    calls: Counter[str] = Counter()

    def watch(_: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ in ASKS and type(function.__self__) in {ModuleType, os.DirEntry}:
            calls[function.__name__] += 1

    before = sys.getprofile()
    gc.disable()
    sys.setprofile(watch)
    try:
        scan(root, rules)
    finally:
        sys.setprofile(before)
        gc.enable()
    return calls


def cost(root: Path, rules: RuleSet = NO_RULES) -> dict[str, int]:
    """Return what a tree costs more than an empty one at the same depth."""
    empty = root.parent / "empty"
    empty.mkdir(exist_ok=True)
    return {name: count for name, count in (asked(root, rules) - asked(empty, rules)).items() if count}


def test_a_file_costs_one_look_and_a_directory_is_listed_once(tmp_path: Path) -> None:
    root = grow(tmp_path / "root", {f"d{number % 5}/f{number}": "" for number in range(100)})
    assert cost(root) == {"stat": 100 + 5, "open": 5, "scandir": 5, "close": 5}


@pytest.mark.parametrize("files", [3, 300])
def test_an_excluded_tree_costs_nothing_however_large(tmp_path: Path, files: int) -> None:
    grow(tmp_path / "root", {f"node_modules/p{number}/x.js": "" for number in range(files)})
    assert cost(tmp_path / "root", RuleSet.compile(builtin_rules({}))) == {}


def test_an_excluded_file_costs_no_look(tmp_path: Path) -> None:
    root = grow(tmp_path / "root", {**{f"f{number}.ckpt": "" for number in range(50)}, "a.py": ""})
    assert cost(root, globs("*.ckpt")) == {"stat": 1}


def test_thousands_of_exact_paths_are_found_by_looking_them_up(tmp_path: Path) -> None:
    root = grow(tmp_path / "root", {f"d{number % 7}/f{number}": "" for number in range(70)})
    rules = [ExcludeRule(pattern=f"d{number % 7}/f{number}", kind="path") for number in range(0, 7000, 2)]
    compared = 0

    class Text(str):
        __slots__ = ()

        def startswith(self, *args: Any) -> bool:
            nonlocal compared
            compared += 1
            return super().startswith(*args)

    asked_rules = RuleSet.compile(rules)
    assert asked_rules.match(Text("d0/f0/below"), "below", is_dir=False) is rules[0]
    assert asked_rules.match(Text("d1/f1"), "f1", is_dir=False) is None
    assert compared == 0
    assert len(scan(root, asked_rules).listing) == 35


def test_no_descriptor_is_left_open_and_few_are_open_at_once_however_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: Any = os.open
    most = 0

    def recording(*args: Any, **kwargs: Any) -> Any:
        nonlocal most
        descriptor = opened(*args, **kwargs)
        most = max(most, len(opened_below(tmp_path)))
        return descriptor

    grow(tmp_path / "root", {"/".join(["d"] * 300) + "/f": ""})
    monkeypatch.setattr(os, "open", recording)
    assert len(scan(tmp_path / "root", NO_RULES).listing) == 1
    monkeypatch.undo()
    assert 1 <= most <= 3
    assert opened_below(tmp_path) == []
