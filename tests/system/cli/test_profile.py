"""`kinetic profile`: the life of a profile."""

import json
import stat
from pathlib import Path

import pytest

from tests.system.cli.conftest import Cli


def test_a_profile_is_created_listed_used_shown_unset_and_removed(cli: Cli, home: Path) -> None:
    assert cli("profile", "create", "work", "--project", "p", "--storage", "gs://b/x").returncode == 0
    assert cli("profile", "create", "home", "--backend", "local").returncode == 0
    assert cli("profile", "use", "work").returncode == 0

    listed = json.loads(cli("profile", "ls", "--json").stdout)
    shown = json.loads(cli("profile", "show", "--json").stdout)

    assert [(entry["name"], entry["active"]) for entry in listed] == [("home", False), ("work", True)]
    assert shown == {
        "name": "work",
        "active": True,
        "project": "p",
        "zone": None,
        "cluster": None,
        "namespace": None,
        "backend": None,
        "storage": "gs://b/x",
        "ignore": [],
    }
    assert stat.S_IMODE((home / ".kinetic" / "profiles.json").stat().st_mode) == 0o600
    assert cli("profile", "unset").returncode == 0
    assert cli("profile", "show").stderr.startswith("kinetic: no profile is active")
    assert cli("profile", "rm", "work").returncode == 0
    assert [entry["name"] for entry in json.loads(cli("profile", "ls", "--json").stdout)] == ["home"]


def test_the_list_marks_the_active_profile(cli: Cli) -> None:
    cli("profile", "create", "work", "--use")

    assert cli("profile", "ls").stdout.splitlines()[1].split()[:2] == ["*", "work"]
    assert cli("profile", "ls", KINETIC_PROFILES_FILE="none.json").stdout.startswith("no profiles in ")


def test_an_existing_profile_is_replaced_only_by_force(cli: Cli) -> None:
    cli("profile", "create", "work", "--zone", "a")

    refused = cli("profile", "create", "work", "--zone", "b")
    forced = cli("profile", "create", "work", "--zone", "b", "--force")

    assert (refused.returncode, forced.returncode) == (1, 0)
    assert "replace it with --force" in refused.stderr
    assert json.loads(cli("profile", "show", "work", "--json").stdout)["zone"] == "b"


@pytest.mark.parametrize("command", ["use", "rm", "show"])
def test_an_unknown_name_is_answered_with_the_nearest(cli: Cli, command: str) -> None:
    cli("profile", "create", "work")

    ended = cli("profile", command, "wrok")

    assert ended.returncode == 1
    assert "Did you mean 'work'?" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_damaged_file_is_never_replaced(cli: Cli, home: Path) -> None:
    path = home / ".kinetic" / "profiles.json"
    path.parent.mkdir()
    path.write_text('{"profiles": {"work": {}')

    ended = cli("profile", "create", "other")

    assert ended.returncode == 1
    assert path.read_text() == '{"profiles": {"work": {}'


def test_a_storage_that_is_no_url_is_refused_when_the_profile_is_created(cli: Cli) -> None:
    refused = cli("profile", "create", "work", "--storage", "/srv/kinetic", "--use")
    assert refused.returncode == 2
    assert "--storage: '/srv/kinetic' is no URL; write one such as file:///absolute/path" in refused.stderr
    assert cli("profile", "ls").stdout.startswith("no profiles in ")
