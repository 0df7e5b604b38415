import os
from pathlib import Path

import pytest

from kinetic_core.findings import Severity
from kinetic_core.packaging.dependencies import Dependencies, find_dependencies
from tests.unit.kinetic_core.packaging.trees import grow, surroundings, unprivileged_folder

NUMPY = '[project]\nname = "p"\nversion = "1"\ndependencies = ["numpy>=2"]\n'


def find(entry: Path, *, home: Path | None = None, remote: bool = True) -> Dependencies:
    return find_dependencies(entry, surroundings(home=home or Path("/nowhere/home"), cwd=entry), remote=remote)


def codes(found: Dependencies) -> list[str]:
    return [finding.code for finding in found.findings]


def test_the_nearest_directory_with_a_dependency_file_counts(tmp_path: Path) -> None:
    grow(tmp_path, {"requirements.txt": "rich", "a/requirements.txt": "numpy", "a/b/": ""})
    found = find(tmp_path / "a" / "b", home=tmp_path)
    assert (found.path, found.requirements) == (tmp_path / "a" / "requirements.txt", "numpy\n")


def test_the_file_in_use_is_logged(tmp_path: Path) -> None:
    grow(tmp_path, {"requirements.txt": "numpy"})
    (finding,) = find(tmp_path, home=tmp_path).findings
    assert finding.severity is Severity.INFO
    assert finding.message == f"Using dependency file: {tmp_path / 'requirements.txt'}"


def test_requirements_txt_wins_over_pyproject_toml_at_each_level_and_this_is_logged(tmp_path: Path) -> None:
    grow(tmp_path, {"requirements.txt": "rich", "pyproject.toml": NUMPY})
    found = find(tmp_path, home=tmp_path)
    assert found.requirements == "rich\n"
    assert codes(found) == ["dependency_file_used", "dependency_file_preferred"]
    assert {finding.severity for finding in found.findings} == {Severity.INFO}


def test_a_nearer_pyproject_toml_wins_over_a_farther_requirements_txt(tmp_path: Path) -> None:
    grow(tmp_path, {"requirements.txt": "rich", "a/pyproject.toml": NUMPY})
    assert find(tmp_path / "a", home=tmp_path).requirements == "numpy>=2\n"


def test_only_files_count(tmp_path: Path) -> None:
    grow(tmp_path, {"a/requirements.txt/": "", "pyproject.toml": NUMPY})
    os.mkfifo(tmp_path / "a" / "pyproject.toml")
    assert find(tmp_path / "a", home=tmp_path).path == tmp_path / "pyproject.toml"


@pytest.mark.parametrize("git", [".git", ".git/"])
def test_the_walk_stops_after_the_first_directory_with_git(tmp_path: Path, git: str) -> None:
    grow(tmp_path, {"requirements.txt": "rich", f"a/{git}": "", "a/b/": ""})
    assert find(tmp_path / "a" / "b", home=tmp_path).path is None
    grow(tmp_path, {"a/requirements.txt": "numpy"})
    assert find(tmp_path / "a" / "b", home=tmp_path).requirements == "numpy\n"


def test_the_walk_stops_at_home_which_is_examined_too(tmp_path: Path) -> None:
    grow(tmp_path, {"requirements.txt": "rich", "home/a/": ""})
    assert find(tmp_path / "home" / "a", home=tmp_path / "home").path is None
    grow(tmp_path, {"home/requirements.txt": "numpy"})
    assert find(tmp_path / "home" / "a", home=tmp_path / "home").requirements == "numpy\n"


def test_home_behind_a_link_stops_the_walk_too(tmp_path: Path) -> None:
    grow(tmp_path, {"requirements.txt": "rich", "real/a/": ""})
    (tmp_path / "home").symlink_to("real")
    assert find(tmp_path / "real" / "a", home=tmp_path / "home").path is None
    assert find(tmp_path / "home" / "a", home=tmp_path / "real").path is None


def test_nothing_found_is_nothing_said(tmp_path: Path) -> None:
    assert find(tmp_path, home=tmp_path) == Dependencies(path=None, requirements=None, findings=())


def test_the_walk_ends_at_the_root_of_the_file_system() -> None:
    found = find(Path("/"))
    assert found.path in (None, Path("/requirements.txt"), Path("/pyproject.toml"))


def test_a_file_above_the_entry_directory_is_warned_of_unless_git_holds_both(tmp_path: Path) -> None:
    grow(tmp_path, {"requirements.txt": "numpy", "a/b/": ""})
    found = find(tmp_path / "a" / "b", home=tmp_path)
    assert codes(found) == ["dependency_file_used", "dependency_file_above"]
    assert found.findings[1].severity is Severity.WARNING
    assert codes(find(tmp_path, home=tmp_path)) == ["dependency_file_used"]
    grow(tmp_path, {".git/": ""})
    assert codes(find(tmp_path / "a" / "b", home=tmp_path)) == ["dependency_file_used"]


def test_git_above_the_file_makes_both_one_project_but_not_from_beyond_home(tmp_path: Path) -> None:
    grow(tmp_path, {".git/": "", "home/sub/requirements.txt": "numpy", "home/sub/a/": ""})
    entry = tmp_path / "home" / "sub" / "a"
    assert codes(find(entry, home=tmp_path)) == ["dependency_file_used"]
    assert codes(find(entry, home=tmp_path / "home")) == ["dependency_file_used", "dependency_file_above"]


def test_declared_dependencies_are_read(tmp_path: Path) -> None:
    text = '[project]\ndependencies = [\n  "numpy>=2",\n  "rich ; python_version > \'3\'",\n]\n'
    grow(tmp_path, {"pyproject.toml": text})
    found = find(tmp_path, home=tmp_path)
    assert found.requirements == "numpy>=2\nrich ; python_version > '3'\n"
    assert codes(found) == ["dependency_file_used"]


def test_an_empty_list_of_dependencies_is_a_declaration(tmp_path: Path) -> None:
    grow(tmp_path, {"pyproject.toml": "[project]\ndependencies = []\n"})
    found = find(tmp_path, home=tmp_path)
    assert found.requirements == ""
    assert codes(found) == ["dependency_file_used"]


def test_what_the_image_provides_is_removed_from_declared_dependencies_unless_marked(tmp_path: Path) -> None:
    text = '[project]\ndependencies = [\n  \'jax[tpu]\', # kn:keep\n  "jaxlib",\n  "numpy",\n]\n'
    grow(tmp_path, {"pyproject.toml": text})
    found = find(tmp_path, home=tmp_path)
    assert found.requirements == "jax[tpu]\nnumpy\n"
    assert codes(found) == ["dependency_file_used", "requirement_removed"]
    assert f"{tmp_path / 'pyproject.toml'}:4: " in found.findings[1].message


def test_a_local_path_among_declared_dependencies_is_an_error_naming_the_line(tmp_path: Path) -> None:
    grow(tmp_path, {"pyproject.toml": '[project]\ndependencies = ["lib @ file:///src/lib"]\n'})
    assert codes(find(tmp_path, home=tmp_path)) == ["dependency_file_used", "requirement_local"]
    assert ":2: " in find(tmp_path, home=tmp_path).findings[1].message
    assert codes(find(tmp_path, home=tmp_path, remote=False)) == ["dependency_file_used"]


def test_a_dependency_whose_line_cannot_be_found_is_named_by_the_file(tmp_path: Path) -> None:
    grow(tmp_path, {"pyproject.toml": '[project]\ndependencies = ["ja\\u0078"]\n'})
    found = find(tmp_path, home=tmp_path)
    assert found.requirements == ""
    assert found.findings[1].message.startswith(f"{tmp_path / 'pyproject.toml'}: ")


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ("", []),
        ("[tool.ruff]\nline-length = 100\n", []),
        ("[project]\nname = 'p'\n", []),
        ("project = 3\n", []),
        ("[tool.poetry.dependencies]\npython = '*'\nnumpy = '*'\n", ["[tool.poetry.dependencies]"]),
        ("[project.optional-dependencies]\na = ['numpy']\n", ["[project.optional-dependencies]"]),
        ("[dependency-groups]\na = ['numpy']\n", ["[dependency-groups]"]),
        ("[tool.poetry.dependencies]\npython = '*'\n", []),
        ("[dependency-groups]\n", []),
        ("[project]\ndynamic = ['version', 'dependencies']\n", ["dynamic"]),
        ("[project]\ndynamic = ['version']\n", []),
        (
            (
                "[project]\ndynamic = ['dependencies']\n[project.optional-dependencies]\na = ['x']\n"
                "[dependency-groups]\nb = ['y']\n[tool.poetry.dependencies]\nz = '*'\n"
            ),
            ["[tool.poetry.dependencies]", "[project.optional-dependencies]", "[dependency-groups]", "dynamic"],
        ),
    ],
)
def test_a_pyproject_toml_without_dependencies_is_warned_of_naming_tables_that_hold_some(
    tmp_path: Path, table: str, named: list[str]
) -> None:
    grow(tmp_path, {"pyproject.toml": table})
    found = find(tmp_path, home=tmp_path)
    assert found.requirements == ""
    assert codes(found) == ["dependency_file_used", "dependencies_undeclared"]
    finding = found.findings[1]
    assert finding.severity is Severity.WARNING
    _, _, listed = finding.message.partition("not read: ")
    assert listed == ", ".join(named)


@pytest.mark.parametrize(
    "content",
    [b"[project\n", b"\xff\xfe", b"[project]\ndependencies = 'numpy'\n", b"[project]\ndependencies = [1]\n"],
)
def test_a_pyproject_toml_that_cannot_be_used_is_warned_of(tmp_path: Path, content: bytes) -> None:
    grow(tmp_path, {"pyproject.toml": content})
    found = find(tmp_path, home=tmp_path)
    assert (found.path, found.requirements) == (tmp_path / "pyproject.toml", None)
    assert codes(found) == ["dependency_file_used", "dependency_file_unusable"]


def test_an_unreadable_file_is_warned_of() -> None:
    with unprivileged_folder() as folder:
        grow(folder, {"requirements.txt": "numpy"})
        (folder / "requirements.txt").chmod(0)
        found = find(folder, home=folder)
    assert (found.path, found.requirements) == (folder / "requirements.txt", None)
    assert codes(found) == ["dependency_file_used", "dependency_file_unusable"]
    assert "Permission denied" in found.findings[1].message
