from typing import Any

import pytest

from benchmarks.budgets import Budget, Verdict, judge, read_budgets
from benchmarks.page import read_last
from benchmarks.records import Measured, Row
from benchmarks.table import budget_table

BUDGETS = read_budgets()
_, LAST = read_last()


def budget(**changes: Any) -> Budget:
    given: dict[str, Any] = {"target": 1, "what": "a thing", "measure": "m", "against": "them", "at_most": 0.5}
    return Budget(**given | changes)


def measured(ours: float, theirs: float | None, *, quantity: str = "wall_ms") -> Measured:
    row = Row(contestant="them", reason="gone") if theirs is None else Row(contestant="them", values={quantity: theirs})
    return Measured(key="m", title="", rows=(Row(contestant="kinetic-run", values={quantity: ours}), row))


@pytest.mark.parametrize(
    ("held", "ours", "verdict"),
    [
        (budget(), 5.0, Verdict.MET),
        (budget(), 5.4, Verdict.MET),
        (budget(), 5.6, Verdict.BROKEN),
        (budget(margin=0.5), 7.4, Verdict.MET),
        (budget(status="open", today=0.9), 9.0, Verdict.OPEN),
        (budget(status="open", today=0.9), 4.0, Verdict.OPEN),
        (budget(status="open", today=0.9), 10.0, Verdict.BROKEN),
        (budget(compare="difference", at_most=3), 13.0, Verdict.MET),
        (budget(compare="difference", at_most=3), 14.0, Verdict.BROKEN),
        (budget(compare="value", against=None, at_most=3), 3.0, Verdict.MET),
        (budget(compare="value", against=None, at_most=3), 4.0, Verdict.BROKEN),
    ],
)
def test_a_budget_is_judged_by_its_comparison_its_margin_and_its_status(
    held: Budget, ours: float, verdict: Verdict
) -> None:
    (judged,) = judge([held], [measured(ours, 10.0)])
    assert judged.verdict is verdict


@pytest.mark.parametrize(
    ("held", "found", "reason"),
    [
        (budget(measure="other"), measured(1.0, 1.0), "not part of this run"),
        (budget(), measured(1.0, None), "gone"),
        (budget(quantity="bytes"), measured(1.0, 1.0), "it counts no bytes"),
        (budget(against="nobody"), measured(1.0, 1.0), "no such row or value"),
    ],
)
def test_what_was_not_measured_says_why(held: Budget, found: Measured, reason: str) -> None:
    (judged,) = judge([held], [found])
    assert (judged.verdict, judged.value, judged.reason) == (Verdict.UNMEASURED, None, reason)


@pytest.mark.parametrize(
    ("held", "ours", "told"),
    [
        (budget(at_most=1.25), 12.5, "≤ 1.25 | 1.2 | met"),
        (budget(at_most=1.25), 12.7, "≤ 1.25 | 1.3 | within its margin"),
        (budget(status="open", today=0.9), 8.0, "≤ 0.5 | 0.80 | OPEN"),
        (budget(status="open", today=0.9), 4.0, "≤ 0.5 | 0.40 | reached; close it"),
        (budget(compare="value", against=None, at_most=65536, quantity="bytes"), 12.0, "≤ 65,536 | 12 | met"),
    ],
)
def test_the_table_tells_the_target_itself_and_what_only_its_margin_lets_pass(
    held: Budget, ours: float, told: str
) -> None:
    *_, line = budget_table(judge([held], [measured(ours, 10.0, quantity=held.quantity)]))
    assert line == f"| 1 | a thing | {told} |"


def test_an_open_budget_whose_target_is_reached_can_be_told() -> None:
    (reached, missed) = judge([budget(status="open", today=0.9)] * 2, [measured(4.0, 10.0)])
    assert reached.is_reached
    assert missed.is_reached
    (missed,) = judge([budget(status="open", today=0.9)], [measured(6.0, 10.0)])
    assert not missed.is_reached


@pytest.mark.parametrize(
    "changes",
    [{"status": "open"}, {"today": 1.0}, {"compare": "value"}, {"against": None}, {"against": None, "status": "open"}],
)
def test_a_budget_that_contradicts_itself_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a thing"):
        budget(**changes)


def test_every_target_that_can_be_measured_yet_has_a_budget() -> None:
    assert {held.target for held in BUDGETS} >= {*range(1, 13), 15, 16}


def test_no_two_budgets_say_the_same() -> None:
    compared = [(held.measure, held.ours, held.against, held.quantity) for held in BUDGETS]
    assert sorted(set(compared), key=str) == sorted(compared, key=str)


def test_budgets_speak_of_rows_that_the_last_recorded_run_had() -> None:
    recorded = {one.key: one for one in LAST}
    for held in BUDGETS:
        if held.measure not in recorded:
            continue
        for name in (held.ours, held.against):
            row = recorded[held.measure].row(name) if name is not None else recorded[held.measure].rows[0]
            assert row is not None, held.what
            assert row.reason is not None or held.quantity in row.values, held.what
