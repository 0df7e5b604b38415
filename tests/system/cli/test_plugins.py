"""`kinetic plugins`: what is installed, and what is wrong."""

import json
from pathlib import Path

from tests.system.cli.conftest import Cli


def install_plugin(site: Path, source: str) -> None:
    """Put a distribution with one plugin on a search path, as an installer would."""
    site.mkdir()
    (site / "kinetic_shiny.py").write_text(source)
    info = site / "kinetic_shiny-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kinetic-shiny\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[kinetic]\nshiny = kinetic_shiny\n")


def test_built_in_plugins_are_listed_with_version_and_hooks(cli: Cli) -> None:
    listed = {plugin["name"]: plugin for plugin in json.loads(cli("plugins", "--json").stdout)}

    assert listed["local"]["distribution"] == "kinetic-run"
    assert listed["local"]["hooks"] == ["kinetic_backend_drivers", "kinetic_caches"]
    assert listed["local"]["problem"] == ""


def test_check_passes_when_all_is_well(cli: Cli) -> None:
    ended = cli("plugins", "--check")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[0].split() == ["NAME", "STATE", "DISTRIBUTION", "HOOKS"]


def test_a_broken_plugin_is_named_once_and_fails_only_the_check(cli: Cli, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install_plugin(site, "def kinetic_exclude_rule(root): return ()\n")

    listed = cli("plugins", PYTHONPATH=str(site))
    checked = cli("plugins", "--check", PYTHONPATH=str(site))

    assert (listed.returncode, checked.returncode) == (0, 1)
    assert checked.stderr.count("kinetic_exclude_rule") >= 1
    assert len(checked.stderr.splitlines()) == 1
    assert "kinetic-shiny 1.2" in checked.stderr
    assert any(line.split()[:2] == ["shiny", "rejected"] for line in listed.stdout.splitlines())


def test_a_plugin_that_the_user_left_out_is_shown_as_off(cli: Cli) -> None:
    ended = cli("plugins", KINETIC_DISABLE_PLUGINS="gitignore")

    assert any("off (KINETIC_DISABLE_PLUGINS)" in line for line in ended.stdout.splitlines())
