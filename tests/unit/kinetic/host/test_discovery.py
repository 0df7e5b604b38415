"""Installed plugins, found without reading every distribution of the environment."""

import sys
from pathlib import Path

import pytest

from kinetic.host.discovery import discover
from tests.fakes.plugin_site import PluginSite


def found(distribution: str) -> list[tuple[str, str, str]]:
    return [
        (one.origin.plugin, one.origin.distribution, one.origin.version)
        for one in discover()
        if one.origin.distribution.lower().replace("_", "-") == distribution
    ]


def test_a_distribution_hides_those_of_its_name_further_down_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    PluginSite(tmp_path / "first").metadata("kinetic-shiny", {"shiny": "new"}, version="2.0")
    PluginSite(tmp_path / "second").metadata("Kinetic_Shiny", {"shiny": "old", "dull": "old"})
    monkeypatch.setattr(sys, "path", [*map(str, (tmp_path / "first", tmp_path / "second")), *sys.path])
    assert found("kinetic-shiny") == [("shiny", "kinetic-shiny", "2.0")]


def test_one_that_gave_up_its_plugins_hides_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    PluginSite(tmp_path / "second").metadata("kinetic-shiny", {"shiny": "old"})
    monkeypatch.setattr(sys, "path", [*map(str, (tmp_path / "first", tmp_path / "second")), *sys.path])
    assert found("kinetic-shiny") == [("shiny", "kinetic-shiny", "1.0")]
    folder = tmp_path / "first" / "kinetic_shiny-2.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: kinetic-shiny\nVersion: 2.0\n")
    (folder / "entry_points.txt").write_text("[console_scripts]\nshiny = shiny:main\n")
    assert found("kinetic-shiny") == []


def test_one_that_does_not_tell_its_name_keeps_its_plugins(site: PluginSite) -> None:
    folder = site.directory / "nameless-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[kinetic]\nlost = lost\n[other]\nkinetic = other\n")
    assert [one.origin.plugin for one in discover() if one.origin.plugin in {"lost", "kinetic"}] == ["lost"]
