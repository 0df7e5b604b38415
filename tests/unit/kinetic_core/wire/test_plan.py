"""The plan: its keys, and a reader that degrades rather than fails."""

import json
from typing import Any

import pytest

from kinetic_core.wire.plan import FORMAT, Plan, read_plan

FULL = Plan(
    package_root="/home/ann/proj",
    entry_rel="src",
    client_cwd_rel=None,
    sys_path_rel=("", "src", "lib.zip"),
    excluded={"always": 3, "plugin:dvc": 0},
    extensions={"dvc": {"files": [1, None]}},
)


def as_bytes(**changes: Any) -> bytes:
    return json.dumps({**FULL.to_json(), **changes}).encode()


def test_the_keys_are_those_of_the_contract() -> None:
    raw = json.loads(FULL.to_bytes())
    assert raw == {
        "format": 1,
        "package_root": "/home/ann/proj",
        "entry_rel": "src",
        "client_cwd_rel": None,
        "sys_path_rel": ["", "src", "lib.zip"],
        "excluded": {"always": 3, "plugin:dvc": 0},
        "extensions": {"dvc": {"files": [1, None]}},
    }
    assert FORMAT == 1


def test_names_that_rules_kept_out_are_told_where_there_are_any() -> None:
    told = Plan(package_root="/p", excluded_files={"data/": "data"})
    assert told.to_json()["excluded_files"] == {"data/": "data"}
    assert read_plan(told.to_bytes()) == (told, ())
    assert read_plan(as_bytes(excluded_files={"a": 1, "b": "*.b"}))[0].excluded_files == {"b": "*.b"}
    assert read_plan(as_bytes(excluded_files=["a"]))[0].excluded_files == {}


def test_what_was_written_is_read_without_a_warning() -> None:
    assert read_plan(FULL.to_bytes()) == (FULL, ())


def test_the_same_plan_gives_the_same_bytes_whatever_the_order_of_its_counts() -> None:
    one = Plan(package_root="/p", excluded={"a": 1, "b": 2})
    assert one.to_bytes() == Plan(package_root="/p", excluded={"b": 2, "a": 1}).to_bytes()


def test_unknown_keys_are_ignored_without_a_word() -> None:
    assert read_plan(as_bytes(later={"anything": [1]})) == (FULL, ())


@pytest.mark.parametrize("format_", [2, "1", None])
def test_another_format_is_read_as_far_as_it_goes(format_: Any) -> None:
    assert read_plan(as_bytes(format=format_))[0] == FULL


@pytest.mark.parametrize("wrong", [7, None, ["src"], {"a": 1}, True])
@pytest.mark.parametrize(("key", "default"), [("package_root", ""), ("entry_rel", "")])
def test_missing_and_malformed_keys_degrade_with_a_warning_each(key: str, default: str, wrong: Any) -> None:
    plan, warnings = read_plan(as_bytes(**{key: wrong}))
    assert getattr(plan, key) == default
    assert len(warnings) == 1
    assert repr(key) in warnings[0]


def test_an_empty_object_has_a_warning_for_each_key_that_matters() -> None:
    plan, warnings = read_plan(b"{}")
    assert plan == Plan(package_root="")
    named = [key for line in warnings for key in plan.to_json() if repr(key) in line]
    assert named == ["package_root", "entry_rel", "client_cwd_rel", "sys_path_rel"]


def test_a_working_directory_outside_is_no_malformed_one() -> None:
    assert read_plan(as_bytes(client_cwd_rel=None)) == (FULL, ())
    plan, (warning,) = read_plan(as_bytes(client_cwd_rel=3))
    assert plan.client_cwd_rel == ""
    assert "client_cwd_rel" in warning


def test_entries_of_the_import_path_that_are_no_text_are_left_out_with_a_warning() -> None:
    plan, (warning,) = read_plan(as_bytes(sys_path_rel=["", 3, "src", None]))
    assert plan.sys_path_rel == ("", "src")
    assert "sys_path_rel" in warning


@pytest.mark.parametrize("wrong", ["src", None, {"": 1}])
def test_an_import_path_that_is_no_list_is_the_root_with_a_warning(wrong: Any) -> None:
    plan, (warning,) = read_plan(as_bytes(sys_path_rel=wrong))
    assert plan.sys_path_rel == ("",)
    assert "sys_path_rel" in warning


def test_counts_and_extensions_that_are_malformed_are_dropped_without_a_word() -> None:
    plan, warnings = read_plan(as_bytes(excluded={"always": "3", "data": 2}, extensions=[1]))
    assert (plan.excluded, plan.extensions, warnings) == ({"data": 2}, {}, ())
    assert read_plan(as_bytes(excluded=[1]))[0].excluded == {}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "no packaging plan"),
        (b"", "not readable as JSON"),
        (b"\xff\xfe", "not readable as JSON"),
        (b"[" * 100_000, "not readable as JSON"),
        (b"9" * 10_000, "not readable as JSON"),
        (b"[]", "no JSON object"),
        (b"null", "no JSON object"),
    ],
)
def test_what_is_no_plan_at_all_degrades_to_the_root(data: bytes | None, words: str) -> None:
    plan, (warning,) = read_plan(data)
    assert plan == Plan(package_root="")
    assert words in warning
