"""Import path, working directory, variables and the one link."""

import os
import sys
from pathlib import Path

import pytest

from kinetic_core.wire.plan import Plan
from kinetic_runner import environment
from kinetic_runner.environment import WorkingDirLink
from tests.unit.kinetic_runner.journal import Journal


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a workspace with two directories."""
    tmp_path.joinpath("w/src").mkdir(parents=True)
    tmp_path.joinpath("w/lib").mkdir()
    return tmp_path / "w"


def plan(*sys_path: str, cwd: str | None = "") -> Plan:
    return Plan(package_root="/p", sys_path_rel=sys_path, client_cwd_rel=cwd)


def test_the_import_path_starts_with_the_root_and_keeps_the_clients_order(workspace: Path, journal: Journal) -> None:
    path = environment.import_path(plan("lib", "", "src", "lib"), workspace, journal)
    assert path == [str(workspace), str(workspace / "lib"), str(workspace / "src")]
    assert journal.warnings == []


@pytest.mark.parametrize(("cwd", "words"), [(None, "outside of what was shipped"), ("gone", "was not shipped")])
def test_a_working_directory_that_is_not_there_is_the_root_with_a_warning(
    workspace: Path, journal: Journal, cwd: str | None, words: str
) -> None:
    assert environment.working_directory(plan(cwd=cwd), workspace, journal) == workspace
    assert words in journal.warnings[0]


def test_entries_that_did_not_ship_are_left_out_with_a_warning(workspace: Path, journal: Journal) -> None:
    assert environment.import_path(plan("gone"), workspace, journal) == [str(workspace)]
    assert "is not in the context" in journal.warnings[0]


@pytest.mark.parametrize("rel", ["..", "../w-evil", "/etc", "src/../../x", "a\0b"])
def test_a_path_that_leaves_the_workspace_is_refused_with_a_warning(
    workspace: Path, journal: Journal, rel: str
) -> None:
    workspace.with_name("w-evil").mkdir()
    assert environment.import_path(plan(rel), workspace, journal) == [str(workspace)]
    assert environment.working_directory(plan(cwd=rel), workspace, journal) == workspace
    assert len(journal.warnings) == 2
    assert all("leads out of the workspace" in warning for warning in journal.warnings)


def test_a_link_out_of_the_workspace_is_refused(workspace: Path, journal: Journal, tmp_path: Path) -> None:
    workspace.joinpath("out").symlink_to(tmp_path)
    assert environment.working_directory(plan(cwd="out"), workspace, journal) == workspace


def test_a_workspace_behind_a_link_is_the_workspace(workspace: Path, journal: Journal, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace)
    assert environment.working_directory(plan(cwd="src"), link, journal) == link / "src"


@pytest.mark.usefixtures("own_process")
def test_entering_puts_the_workspace_first_and_nothing_twice(workspace: Path, journal: Journal) -> None:
    sys.path.insert(1, str(workspace / "src"))
    before = [entry for entry in sys.path if entry != str(workspace / "src")]
    environment.enter(plan("", "src", cwd="lib"), workspace, journal)
    assert sys.path == [str(workspace), str(workspace / "src"), *before]
    assert Path.cwd() == workspace / "lib"


@pytest.mark.parametrize("captured", [None, [], "text"])
def test_a_payload_without_variables_sets_none(captured: object, journal: Journal) -> None:
    environ = {"A": "1"}
    environment.set_variables(captured, environ, journal)
    assert environ == {"A": "1"}


@pytest.mark.usefixtures("own_process")
def test_variables_that_cannot_be_set_are_named_without_their_value(journal: Journal) -> None:
    captured = {"GOOD": "1", "NUL": "sec\0ret", "A=B": "secret", "NUMBER": 5}
    environment.set_variables(captured, os.environ, journal)
    assert os.environ["GOOD"] == "1"
    assert [name for name in ("NUL", "A=B", "NUMBER") if f"{name!r}" in journal.text_of_all] == ["NUL", "A=B", "NUMBER"]
    assert "secret" not in journal.text_of_all
    assert "sec" not in journal.text_of_all


def test_a_run_by_hand_is_a_job_too() -> None:
    environ: dict[str, str] = {}
    environment.name_job(environ, 2)
    assert environ == {
        "KINETIC_JOB_ID": "job-by-hand",
        "KINETIC_HOST_INDEX": "2",
        "KINETIC_NUM_HOSTS": "1",
        "PYTHONUNBUFFERED": "1",
    }


def test_a_link_that_cannot_be_made_is_a_warning(workspace: Path, journal: Journal, tmp_path: Path) -> None:
    tmp_path.joinpath("file").touch()
    link = WorkingDirLink(str(tmp_path / "file/deep/cwd"), workspace)
    link.make(journal)
    link.remove()
    (warning,) = journal.warnings
    assert "no link at the client's working directory" in warning
    assert tmp_path.joinpath("file").is_file()


@pytest.mark.parametrize("path", ["relative/cwd", ""])
def test_a_working_directory_that_is_not_absolute_gets_no_link(
    workspace: Path, journal: Journal, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    WorkingDirLink(path, workspace).make(journal)
    assert sorted(tmp_path.rglob("*")) == before


def test_removing_the_link_leaves_what_others_put_beside_it(workspace: Path, journal: Journal, tmp_path: Path) -> None:
    link = WorkingDirLink(str(tmp_path / "client/cwd"), workspace)
    link.make(journal)
    assert tmp_path.joinpath("client/cwd/src").is_dir()
    tmp_path.joinpath("client/other").touch()
    link.remove()
    assert [path.name for path in tmp_path.joinpath("client").iterdir()] == ["other"]
    assert workspace.joinpath("src").is_dir()
