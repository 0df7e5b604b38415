"""Whatever bytes stand where the plan should be, reading them gives a plan."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.wire.plan import Plan, read_plan

KEYS = st.sampled_from(sorted(Plan(package_root="", excluded_files={"a": "b"}).to_json())) | st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def check(plan: Plan, warnings: tuple[str, ...]) -> None:
    """Hold the plan to its own types, and to its own JSON."""
    assert isinstance(plan.package_root, str)
    assert isinstance(plan.entry_rel, str)
    assert plan.client_cwd_rel is None or isinstance(plan.client_cwd_rel, str)
    assert all(isinstance(entry, str) for entry in plan.sys_path_rel)
    assert all(isinstance(count, int) for count in plan.excluded.values())
    assert all(isinstance(rule, str) for rule in plan.excluded_files.values())
    assert isinstance(plan.extensions, dict)
    assert all(warnings)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail(data: bytes) -> None:
    plan, warnings = read_plan(data)
    check(plan, warnings)
    assert warnings


@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_no_object_makes_the_reader_fail_and_what_it_understood_is_kept(raw: dict[str, object]) -> None:
    plan, warnings = read_plan(json.dumps(raw).encode())
    check(plan, warnings)
    for key in ("package_root", "entry_rel"):
        expected = raw.get(key)
        assert getattr(plan, key) == (expected if isinstance(expected, str) else "")
        assert any(repr(key) in warning for warning in warnings) != isinstance(expected, str)


@given(st.data(), st.dictionaries(KEYS, VALUES, max_size=4))
def test_no_damage_to_the_text_makes_the_reader_fail(data: st.DataObject, raw: dict[str, object]) -> None:
    text = bytearray(json.dumps({**Plan(package_root="/p").to_json(), **raw}).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        text[start : data.draw(st.integers(start, min(len(text), start + 8)))] = data.draw(st.binary(max_size=6))
    check(*read_plan(bytes(text)))
