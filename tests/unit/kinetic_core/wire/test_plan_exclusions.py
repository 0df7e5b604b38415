"""The plan tells what rules kept out."""

import json
from pathlib import Path

from kinetic_core.model.package import Exclusion, PackageRoot
from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.layout import MAX_EXCLUDED_FILES, make_plan
from kinetic_core.wire.plan import Plan, read_plan


def plan_of(*exclusions: Exclusion) -> Plan:
    root = PackageRoot(path=Path("/p"), step="entry", reason="", trail=(), entry=Path("/p"))
    here = Surroundings(environ={}, home=Path("/h"), cwd=Path("/p"), sys_path=())
    return make_plan(root, here, excluded={}, extensions={}, exclusions=exclusions)


def test_what_users_and_plugins_keep_out_stands_in_the_plan_with_its_rule() -> None:
    plan = plan_of(
        Exclusion(name=".git/", source="always", rule=".git"),
        Exclusion(name="venv/", source="default", rule="venv"),
        Exclusion(name="a.log", source="ignore-file", rule="*.log"),
        Exclusion(name="raw/", source="data", rule="raw"),
    )
    assert plan.excluded_files == {"a.log": "*.log (ignore-file)", "raw/": "raw (data)"}
    assert read_plan(plan.to_bytes())[0] == plan


def test_the_plan_stays_small_however_much_is_kept_out() -> None:
    many = [Exclusion(name=f"{i:05}.log", source="ignore-file", rule="*.log") for i in range(MAX_EXCLUDED_FILES + 5)]
    assert len(plan_of(*many).excluded_files) == MAX_EXCLUDED_FILES


def test_malformed_entries_are_left_out() -> None:
    raw = plan_of().to_json() | {"excluded_files": {"a": 1, "b": "rule"}}
    assert read_plan(json.dumps(raw).encode())[0].excluded_files == {"b": "rule"}
    assert read_plan(json.dumps(raw | {"excluded_files": []}).encode())[0].excluded_files == {}
