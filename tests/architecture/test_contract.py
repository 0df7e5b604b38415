"""The contract page: every rule has a test, and every test that it names exists."""

import ast
import re
from collections import Counter
from functools import cache

import pytest

from tests.architecture.source import ROOT, parse

PAGE = (ROOT / "docs/explanation/contract.md").read_text(encoding="utf-8")
ID = r"[A-Z][0-9]+(?:\.[0-9]+)?"
STATED = re.findall(rf"^- \*\*({ID})\*\* \S", PAGE, flags=re.MULTILINE)
ROWS = re.findall(rf"^\| ({ID}) \| (.*) \|$", PAGE, flags=re.MULTILINE)
TEST = re.compile(r"`((?:tests|kinetic/testing)/[\w/]+\.py)::(test_\w+)`")
# Those of sections A to F, H, J and K that the pages of this project have to answer.
KNOWN_FAILURE_MODES = [
    *("A3", "A4", "A5", "A6", "A10"),
    *("B1", "B5", "B6", "B8", "B10", "B11", "B12", "B15"),
    *("C3", "C4", "C5", "C6", "C8", "C9", "C10", "C11", "C13"),
    *("D2", "D4", "E2", "J1", "J2", "J3"),
]


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the names of the test functions of a module."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(parse(ROOT / path)) if isinstance(node, functions))


def test_no_rule_is_stated_twice_or_linked_twice() -> None:
    assert [rule for rule, count in Counter(STATED).items() if count > 1] == []
    assert [rule for rule, count in Counter(rule for rule, _ in ROWS).items() if count > 1] == []


def test_every_rule_stands_in_a_table_and_every_row_is_of_a_rule() -> None:
    assert STATED
    assert sorted(rule for rule, _ in ROWS) == sorted(STATED)


def test_whatever_looks_like_a_rule_or_a_row_is_read_as_one() -> None:
    assert len(re.findall(r"^[-*] \*\*", PAGE, flags=re.MULTILINE)) == len(STATED)
    assert len(re.findall(r"^\|\s*[A-Z][0-9]", PAGE, flags=re.MULTILINE)) == len(ROWS)


@pytest.mark.parametrize(("rule", "cell"), ROWS, ids=[rule for rule, _ in ROWS])
def test_a_row_names_tests_that_exist_and_nothing_else(rule: str, cell: str) -> None:
    named = TEST.findall(cell)
    assert named
    assert TEST.sub("", cell).strip(" ,") == ""
    assert [
        f"{path}::{name}" for path, name in named if not (ROOT / path).is_file() or name not in names_in(path)
    ] == []


@pytest.mark.parametrize("case", KNOWN_FAILURE_MODES)
def test_every_known_failure_mode_is_answered(case: str) -> None:
    assert case in STATED
