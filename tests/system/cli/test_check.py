"""`kinetic check` tells whether a store can be used."""

import json
from pathlib import Path

import pytest

from tests.system.cli.conftest import Cli


def test_a_store_that_works_says_so_and_holds_nothing_afterwards(cli: Cli, tmp_path: Path) -> None:
    ended = cli("check", f"file://{tmp_path}/store")

    assert ended.returncode == 0, ended.stderr
    assert [line.split()[0] for line in ended.stdout.splitlines()] == ["store", "write", "read", "list", "delete"]
    assert not [path for path in (tmp_path / "store").rglob("*") if path.is_file()]


def test_the_default_is_the_store_that_jobs_use(cli: Cli, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/mine"
    told = json.loads(cli("check", "--json", KINETIC_STORAGE=url).stdout)

    assert told["url"] == url
    assert list(told["seconds"]) == ["write", "read", "list", "delete"]
    assert cli("check", "file", KINETIC_STORAGE=url).returncode == 0


def test_a_scheme_that_is_not_the_stores_own_is_wrong_usage(cli: Cli, tmp_path: Path) -> None:
    ended = cli("check", "gs", KINETIC_STORAGE=f"file://{tmp_path}/mine")

    assert ended.returncode == 2
    assert "kinetic check gs://" in ended.stderr


def test_a_store_that_cannot_be_used_is_one_sentence_and_exit_1(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = cli("check", f"file://{tmp_path}/file/store")

    assert ended.returncode == 1
    assert "at the step 'write'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_scheme_of_a_url_may_be_in_capitals(cli: Cli, tmp_path: Path) -> None:
    ended = cli("check", f"FILE://{tmp_path}/store")
    assert ended.returncode == 0, ended.stderr
    assert f"file://{tmp_path}/store" in ended.stdout


@pytest.mark.parametrize("place", ["file:store", "data/store"])
def test_what_is_neither_a_scheme_nor_a_url_is_told_to_be_one(cli: Cli, place: str) -> None:
    ended = cli("check", place)
    assert ended.returncode == 2
    assert "name it: kinetic check URL" in " ".join(ended.stderr.split())
