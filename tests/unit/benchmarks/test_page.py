import doctest
import importlib
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks import page, plot, table
from benchmarks.contestants import ROOT
from benchmarks.page import BEGIN, END, PAGE, PLOTS
from benchmarks.records import Measured, Row, merged


def measured(key: str = "m", **walls: float) -> Measured:
    rows = tuple(Row(contestant=name, values={"wall_ms": wall}) for name, wall in walls.items())
    return Measured(key=key, title="a `thing`", rows=rows)


def test_the_committed_page_is_what_the_last_run_gives(tmp_path: Path) -> None:
    if not page.read_last()[1]:
        assert f"{BEGIN}\n{END}" in PAGE.read_text(encoding="utf-8")
        return
    copy = tmp_path / "performance.md"
    copy.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    page.render(copy, tmp_path / PLOTS.name)
    assert copy.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.joinpath(PLOTS.name).iterdir()}
    assert drawn == {path.name: path.read_text(encoding="utf-8") for path in PLOTS.iterdir()}


def test_what_was_measured_survives_its_file(tmp_path: Path) -> None:
    kept = tmp_path / "last.json"
    page.write_last({"processors": 2}, [measured(one=0.123456, other=2.0)], kept)
    machine, (read,) = page.read_last(kept)
    assert machine == {"processors": 2}
    assert [(row.contestant, row.values) for row in read.rows] == [
        ("one", {"wall_ms": 0.1235}),
        ("other", {"wall_ms": 2.0}),
    ]


def test_a_new_measurement_takes_the_place_of_the_old_one_and_others_stay() -> None:
    old = [measured("a", x=1.0), measured("b", x=1.0)]
    assert merged(old, [measured("a", x=2.0)]) == (measured("a", x=2.0), measured("b", x=1.0))


def test_a_table_has_multiples_of_ours_and_reasons_where_there_is_nothing() -> None:
    rows = (
        Row(contestant="kinetic-run", values={"wall_ms": 2.0}),
        Row(contestant="them", values={"wall_ms": 5.0}, is_disturbed=True),
        Row(contestant="gone", reason="no wheel"),
    )
    assert table.measured_table(Measured(key="m", title="", rows=rows))[2:] == [
        "| kinetic-run | 1.0 × |",  # noqa: RUF001
        "| them ~ | 2.5 × |",  # noqa: RUF001
        "| gone | not measured: no wheel |",
    ]


@pytest.mark.parametrize(
    "drawn",
    [
        plot.bars("Bars & more", {"ours": 1.0, "them <x>": 20.0, "least": 0.01}),
        plot.lines("Lines", "files", "time", {"ours": [(100, 1.0), (1000, 9.0)], "them": [(100, 0.5)]}),
    ],
)
def test_a_plot_is_well_formed_and_stays_inside_its_frame(drawn: str) -> None:
    root = ET.fromstring(drawn)
    width, height = int(root.attrib["width"]), int(root.attrib["height"])
    for element in root.iter():
        for key, limit in (("x", width), ("y", height), ("cx", width), ("cy", height)):
            assert 0 <= float(element.attrib.get(key, 0)) <= limit
        assert "-" not in element.attrib.get("width", "")


def test_the_page_is_marked_where_it_is_written() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.index(BEGIN) < text.index(END)


def test_what_was_measured_names_no_machine() -> None:
    raw = json.dumps(page.read_last()[0])
    assert not re.search(r"[/@]|\d+\.\d+\.\d+\.\d+", raw)


@pytest.mark.parametrize("name", ["drive.machine", "table", "trees"])
def test_the_examples_hold(name: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(f"benchmarks.{name}"))
    assert attempted > 0
    assert failed == 0


def test_every_measurement_can_be_asked_for() -> None:
    suite = importlib.import_module("benchmarks.suite")
    modules = {path.stem for path in ROOT.joinpath("benchmarks", "measures").glob("[a-z]*.py")} - {"field"}
    assert {measure.__module__.rpartition(".")[2] for measure in suite.MEASURES.values()} == modules
