import builtins
import getpass
import io
import os
import pwd
from pathlib import Path

import pytest

from kinetic_core.errors import PackagingError
from kinetic_core.findings import Severity
from kinetic_core.model.package import PackageRoot
from kinetic_core.packaging.root import find_root
from tests.unit.kinetic_core.packaging.trees import grow, load, surroundings, unprivileged_folder


def rooted(
    path: Path, *, home: Path | None = None, cwd: Path | None = None, override: str | None = None
) -> PackageRoot:
    """Find the root of a function in a module made at a path."""
    environ = {} if override is None else {"KINETIC_PACKAGE_ROOT": override}
    here = surroundings(environ=environ, home=home or Path("/nowhere/home"), cwd=cwd or path.parent)
    return find_root(load(path).train, here)


def codes(root: PackageRoot) -> list[str]:
    return [finding.code for finding in root.findings]


@pytest.mark.parametrize(
    ("module", "others", "expected", "step"),
    [
        ("proj/train.py", ["proj/requirements.txt"], "proj", "marker"),
        ("proj/trainer/model.py", ["proj/trainer/__init__.py", "proj/pyproject.toml"], "proj", "marker"),
        ("proj/src/pkg/train.py", ["proj/src/pkg/__init__.py", "proj/pyproject.toml"], "proj", "marker"),
        ("scratch/one_off.py", [], "scratch", "entry"),
        ("scratch/pkg/sub/one.py", ["scratch/pkg/__init__.py", "scratch/pkg/sub/__init__.py"], "scratch", "package"),
        ("a/b/c/train.py", ["a/setup.py", "a/b/setup.cfg"], "a/b", "marker"),
    ],
)
def test_the_layouts_of_the_contract_have_their_roots(
    tmp_path: Path, module: str, others: list[str], expected: str, step: str
) -> None:
    grow(tmp_path, dict.fromkeys(others, ""))
    root = rooted(tmp_path / module, home=tmp_path)
    assert (root.path, root.step) == (tmp_path / expected, step)
    assert root.entry == (tmp_path / module).parent
    assert codes(root) == []


@pytest.mark.parametrize("marker", ["pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", ".git", ".git/"])
def test_each_marker_counts_and_git_also_as_a_file(tmp_path: Path, marker: str) -> None:
    grow(tmp_path, {f"proj/{marker}": ""})
    root = rooted(tmp_path / "proj" / "deep" / "train.py", home=tmp_path)
    assert root.path == tmp_path / "proj"
    assert marker.rstrip("/") in root.reason


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "Pipfile", "README.md"]
)
def test_a_directory_of_a_markers_name_or_another_file_is_no_marker(tmp_path: Path, name: str) -> None:
    grow(tmp_path, {f"proj/{name}/" if "." in name and name != "README.md" else f"proj/{name}": ""})
    assert rooted(tmp_path / "proj" / "deep" / "train.py", home=tmp_path).path == tmp_path / "proj" / "deep"


def test_a_marker_inside_the_package_does_not_keep_the_walk_inside(tmp_path: Path) -> None:
    grow(tmp_path, {"top/pkg/__init__.py": "", "top/pkg/requirements.txt": ""})
    root = rooted(tmp_path / "top" / "pkg" / "train.py", home=tmp_path)
    assert (root.path, root.step) == (tmp_path / "top", "package")


def test_the_trail_names_every_directory_looked_at(tmp_path: Path) -> None:
    grow(tmp_path, {"proj/src/pkg/__init__.py": "", "proj/setup.py": ""})
    trail = rooted(tmp_path / "proj" / "src" / "pkg" / "train.py", home=tmp_path).trail
    assert [
        str(tmp_path / part) in line for line, part in zip(trail, ("", "proj/src/pkg", "proj/src", "proj"), strict=True)
    ]
    assert "part of a package" in trail[1]
    assert "no marker" in trail[2]
    assert "holds setup.py" in trail[3]


def test_home_is_never_adopted_by_walking_and_stops_the_walk(tmp_path: Path) -> None:
    grow(tmp_path, {"pyproject.toml": "", "home/.git/": "", "home/requirements.txt": ""})
    root = rooted(tmp_path / "home" / "a" / "b" / "train.py", home=tmp_path / "home")
    assert (root.path, root.step) == (tmp_path / "home" / "a" / "b", "entry")
    assert "the home directory" in root.trail[-1]


def test_home_behind_a_link_stops_the_walk_like_the_real_one(tmp_path: Path) -> None:
    grow(tmp_path, {"pyproject.toml": "", "real/.git/": ""})
    (tmp_path / "home").symlink_to("real")
    for spelled in ("home", "real"):
        for home in ("home", "real"):
            root = rooted(tmp_path / spelled / "a" / "train.py", home=tmp_path / home)
            assert root.path == tmp_path / spelled / "a"


def test_home_stops_the_escape_from_a_package(tmp_path: Path) -> None:
    grow(tmp_path, {"home/__init__.py": "", "home/pkg/__init__.py": ""})
    root = rooted(tmp_path / "home" / "pkg" / "train.py", home=tmp_path / "home")
    assert (root.path, root.step) == (tmp_path / "home", "package")


def test_a_script_in_home_itself_makes_home_the_root_with_a_warning(tmp_path: Path) -> None:
    root = rooted(tmp_path / "job.py", home=tmp_path)
    assert (root.path, root.step) == (tmp_path, "entry")
    assert [(finding.code, finding.severity) for finding in root.findings] == [("root_too_wide", Severity.WARNING)]


def test_a_marker_in_home_counts_when_the_function_lies_there(tmp_path: Path) -> None:
    grow(tmp_path, {"requirements.txt": ""})
    root = rooted(tmp_path / "job.py", home=tmp_path)
    assert (root.path, root.step) == (tmp_path, "marker")
    assert codes(root) == ["root_too_wide"]


def test_the_root_of_the_file_system_stops_the_walk_and_is_told_of_as_a_root() -> None:
    cell = {"__file__": "/kinetic_no_such_script.py"}
    exec("def f(): pass", cell)
    root = find_root(cell["f"], surroundings())
    assert (root.path, root.step) == (Path("/"), "entry")
    assert codes(root) == ["root_too_wide"]
    assert "the root of the file system" in root.findings[0].message


def test_a_cell_takes_the_working_directory_and_says_so(tmp_path: Path) -> None:
    cell: dict[str, object] = {"__name__": "__main__"}
    exec("def f(): pass", cell)
    root = find_root(cell["f"], surroundings(home=tmp_path, cwd=tmp_path / "nb"))
    assert (root.path, root.entry, root.step) == (tmp_path / "nb", tmp_path / "nb", "entry")
    assert [(finding.code, finding.severity) for finding in root.findings] == [("entry_without_source", Severity.INFO)]


def test_the_override_replaces_the_search(tmp_path: Path) -> None:
    grow(tmp_path, {"proj/a/pyproject.toml": ""})
    root = rooted(tmp_path / "proj" / "a" / "train.py", override=str(tmp_path / "proj"))
    assert (root.path, root.step) == (tmp_path / "proj", "override")
    assert "KINETIC_PACKAGE_ROOT" in root.reason


def test_the_override_may_be_the_entry_directory_itself(tmp_path: Path) -> None:
    assert rooted(tmp_path / "proj" / "train.py", override=str(tmp_path / "proj")).step == "override"


def test_an_empty_override_counts_as_unset(tmp_path: Path) -> None:
    assert rooted(tmp_path / "proj" / "train.py", override="").step == "entry"


def test_the_override_expands_home_and_counts_from_the_working_directory(tmp_path: Path) -> None:
    for raw in ("~/proj", "proj", "other/../proj"):
        (tmp_path / "other").mkdir(exist_ok=True)
        root = rooted(tmp_path / "proj" / "train.py", home=tmp_path, cwd=tmp_path, override=raw)
        assert root.path == tmp_path / "proj"
    assert rooted(tmp_path / "proj" / "train.py", home=tmp_path, override="~").path == tmp_path


def test_the_override_expands_the_home_of_another_user(tmp_path: Path) -> None:
    user = getpass.getuser()
    with pytest.raises(PackagingError, match=f"resolved: {pwd.getpwnam(user).pw_dir}/kinetic_no_such"):
        rooted(tmp_path / "train.py", override=f"~{user}/kinetic_no_such")
    with pytest.raises(PackagingError, match="~kinetic_no_such_user"):
        rooted(tmp_path / "train.py", override="~kinetic_no_such_user")


@pytest.mark.parametrize("place", ["missing", "file", "sibling", "proj/below", "proj-2"])
def test_an_override_that_cannot_hold_the_function_is_a_value_error_with_all_three_places(
    tmp_path: Path, place: str
) -> None:
    grow(tmp_path, {"file": "", "sibling/": "", "proj/below/": "", "proj-2/": ""})
    with pytest.raises(ValueError, match="KINETIC_PACKAGE_ROOT") as caught:
        rooted(tmp_path / "proj" / "train.py", home=tmp_path, override=f"~/{place}")
    assert isinstance(caught.value, PackagingError)
    for part in (repr(f"~/{place}"), str(tmp_path / place), str(tmp_path / "proj")):
        assert part in str(caught.value)


def test_the_override_may_spell_the_project_through_a_link_and_the_reverse(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    assert rooted(tmp_path / "real" / "a" / "train.py", override=str(tmp_path / "alias")).path == tmp_path / "alias"
    assert rooted(tmp_path / "alias" / "a" / "train.py", override=str(tmp_path / "real")).path == tmp_path / "real"


def test_an_override_that_may_not_be_looked_at_is_refused_like_a_missing_one(tmp_path: Path) -> None:
    with unprivileged_folder() as folder:
        grow(folder, {"closed/proj/": ""})
        (folder / "closed").chmod(0)
        cell: dict[str, object] = {}
        exec("def f(): pass", cell)
        here = surroundings(environ={"KINETIC_PACKAGE_ROOT": str(folder / "closed" / "proj")}, cwd=folder)
        with pytest.raises(PackagingError, match="no existing directory"):
            find_root(cell["f"], here)
        (folder / "closed").chmod(0o700)


def test_the_root_is_found_without_reading_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, {"proj/pyproject.toml": "", "proj/pkg/__init__.py": "", "proj/pkg/.git": "gitdir: elsewhere"})
    train = load(tmp_path / "proj/pkg/train.py").train
    here = surroundings(environ={"KINETIC_PACKAGE_ROOT": ""}, home=tmp_path, cwd=tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was read")

    with monkeypatch.context() as patched:
        for module, name in ((builtins, "open"), (io, "open"), (os, "open"), (os, "scandir"), (os, "listdir")):
            patched.setattr(module, name, refuse)
        root = find_root(train, here)
    assert root.path == tmp_path / "proj"
