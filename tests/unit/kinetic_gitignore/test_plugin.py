"""The hook: off unless asked for, and clear about what it needs."""

import sys
from pathlib import Path

import pytest

from kinetic_core.errors import PluginError
from kinetic_core.plugin import RunOptions, RunRequest, Surroundings
from kinetic_gitignore.plugin import kinetic_exclude_rules


def request_for(directory: Path, *dialects: str) -> RunRequest:
    return RunRequest(
        job_id="job-0a1b2c3d",
        function=len,
        options=RunOptions(accelerator="cpu", ignore=dialects),
        name="len",
        surroundings=Surroundings(environ={}, home=directory, cwd=directory, sys_path=()),
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / ".gitignore").write_text("weights.bin\n")
    (tmp_path / "weights.bin").touch()
    return tmp_path


def test_without_being_named_it_makes_no_rule(tree: Path) -> None:
    assert kinetic_exclude_rules(tree, request_for(tree, "konduktor")) == ()


def test_named_beside_others_it_makes_its_rules(tree: Path) -> None:
    rules = kinetic_exclude_rules(tree, request_for(tree, "dvc", "gitignore"))

    assert [(rule.pattern, rule.kind) for rule in rules] == [("weights.bin", "path")]


def test_without_pathspec_it_says_what_to_install(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "pathspec", raising=False)

    assert kinetic_exclude_rules(tree, request_for(tree)) == ()
    with pytest.raises(PluginError, match=r"pip install 'kinetic-run\[gitignore\]'"):
        kinetic_exclude_rules(tree, request_for(tree, "gitignore"))
