import zipfile
from pathlib import Path
from typing import Any, cast

import pytest

from kinetic_core.packaging.layout import make_plan
from kinetic_core.wire.plan import Plan
from tests.unit.kinetic_core.packaging.trees import grow, package_root, surroundings


def plan_of(
    root: Path,
    *sys_path: object,
    cwd: Path | None = None,
    entry: Path | None = None,
    environ: dict[str, str] | None = None,
) -> Plan:
    here = surroundings(cwd=cwd or root, sys_path=cast("Any", sys_path), environ=environ)
    return make_plan(package_root(root, entry), here, excluded={}, extensions={})


def test_the_plan_holds_what_it_is_given() -> None:
    root = package_root(Path("/p"), Path("/p/src"))
    here = surroundings(cwd=Path("/p/work"))
    plan = make_plan(root, here, excluded={"always": 3, "plugin:dvc": 0}, extensions={"dvc": {"rev": 1}})
    assert plan == Plan(
        package_root="/p",
        entry_rel="src",
        client_cwd_rel="work",
        sys_path_rel=("",),
        excluded={"always": 3, "plugin:dvc": 0},
        extensions={"dvc": {"rev": 1}},
    )


def test_the_root_itself_is_the_empty_text_and_outside_is_null(tmp_path: Path) -> None:
    inside, outside = plan_of(tmp_path, cwd=tmp_path), plan_of(tmp_path, cwd=tmp_path.parent)
    assert (inside.entry_rel, inside.client_cwd_rel) == ("", "")
    assert outside.client_cwd_rel is None


def test_entries_under_the_root_keep_the_clients_order_and_the_root_is_first(tmp_path: Path) -> None:
    grow(tmp_path, {"b/": "", "a/lib/": ""})
    assert plan_of(tmp_path, f"{tmp_path}/b", "/usr/lib", f"{tmp_path}/a/lib", str(tmp_path)).sys_path_rel == (
        "",
        "b",
        "a/lib",
    )


def test_no_entry_stands_twice(tmp_path: Path) -> None:
    grow(tmp_path, {"a/": ""})
    assert plan_of(tmp_path, f"{tmp_path}/a", f"{tmp_path}/a/", f"{tmp_path}/./a", "a").sys_path_rel == ("", "a")


def test_relative_entries_count_from_the_working_directory(tmp_path: Path) -> None:
    grow(tmp_path, {"sub/lib/": ""})
    assert plan_of(tmp_path, "", "lib", "..", cwd=tmp_path / "sub").sys_path_rel == ("", "sub", "sub/lib")


def test_entries_that_are_no_text_are_ignored(tmp_path: Path) -> None:
    grow(tmp_path, {"a/": ""})
    assert plan_of(tmp_path, tmp_path / "a", None, 3, b"a").sys_path_rel == ("",)


def test_what_does_not_exist_or_is_an_ordinary_file_is_left_out(tmp_path: Path) -> None:
    grow(tmp_path, {"module.py": ""})
    assert plan_of(tmp_path, f"{tmp_path}/gone", f"{tmp_path}/module.py").sys_path_rel == ("",)


@pytest.mark.parametrize("name", ["lib.zip", "pkg-1.0.egg", "pkg-1.0-py3-none-any.whl", "noextension"])
def test_importable_archives_are_kept(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("module.py", "")
    assert plan_of(tmp_path, f"{tmp_path}/{name}").sys_path_rel == ("", name)


@pytest.mark.parametrize("name", ["site-packages", "dist-packages"])
def test_installed_packages_are_never_kept(tmp_path: Path, name: str) -> None:
    grow(tmp_path, {f"env/lib/{name}/sub/": "", "lib/": ""})
    entries = (f"{tmp_path}/env/lib/{name}", f"{tmp_path}/env/lib/{name}/sub", f"{tmp_path}/lib")
    assert plan_of(tmp_path, *entries).sys_path_rel == ("", "lib")


def test_installed_packages_are_recognised_behind_a_link(tmp_path: Path) -> None:
    grow(tmp_path, {"root/env/site-packages/": "", "outside/dist-packages/": ""})
    (tmp_path / "root" / "inner").symlink_to("env/site-packages")
    (tmp_path / "root" / "outer").symlink_to("../outside/dist-packages")
    root = tmp_path / "root"
    assert plan_of(root, f"{root}/inner", f"{root}/outer").sys_path_rel == ("",)


def test_a_project_that_itself_lies_in_site_packages_keeps_its_entries(tmp_path: Path) -> None:
    root = grow(tmp_path / "site-packages" / "proj", {"src/": ""})
    assert plan_of(root, f"{root}/src").sys_path_rel == ("", "src")


def test_entries_below_a_default_excluded_directory_are_of_no_use_unless_it_ships(tmp_path: Path) -> None:
    grow(tmp_path, {".venv/src/pkg/": "", "venv/": "", "a/.git/": ""})
    entries = (f"{tmp_path}/.venv/src/pkg", f"{tmp_path}/venv", f"{tmp_path}/a/.git")
    assert plan_of(tmp_path, *entries).sys_path_rel == ("",)
    all_in = plan_of(tmp_path, *entries, environ={"KINETIC_NO_DEFAULT_EXCLUDES": "1"})
    assert all_in.sys_path_rel == ("", ".venv/src/pkg", "venv")


def test_a_link_whose_target_is_excluded_by_default_ships_under_its_own_name(tmp_path: Path) -> None:
    grow(tmp_path, {".venv/src/pkg/": ""})
    (tmp_path / "pkg-src").symlink_to(".venv/src/pkg")
    assert plan_of(tmp_path, f"{tmp_path}/pkg-src").sys_path_rel == ("", "pkg-src")


def test_an_entry_through_a_link_is_named_as_the_real_directory_that_ships(tmp_path: Path) -> None:
    grow(tmp_path, {"src/": ""})
    (tmp_path / "link").symlink_to("src")
    plan = plan_of(tmp_path, f"{tmp_path}/link", cwd=tmp_path / "link", entry=tmp_path / "link")
    assert (plan.sys_path_rel, plan.client_cwd_rel, plan.entry_rel) == (("", "src"), "src", "src")


def test_an_entry_through_a_link_that_leads_out_is_named_by_the_link(tmp_path: Path) -> None:
    grow(tmp_path, {"root/": "", "elsewhere/lib/": ""})
    (tmp_path / "root" / "link").symlink_to("../elsewhere")
    assert plan_of(tmp_path / "root", f"{tmp_path}/root/link/lib").sys_path_rel == ("", "link/lib")


def test_a_root_and_entries_spelled_differently_are_matched(tmp_path: Path) -> None:
    grow(tmp_path, {"real/src/": ""})
    (tmp_path / "alias").symlink_to("real")
    assert plan_of(tmp_path / "alias", f"{tmp_path}/real/src").sys_path_rel == ("", "src")
    assert plan_of(tmp_path / "real", f"{tmp_path}/alias/src").sys_path_rel == ("", "src")


def test_a_working_directory_that_does_not_ship_is_named_all_the_same(tmp_path: Path) -> None:
    grow(tmp_path, {".venv/work/": ""})
    assert plan_of(tmp_path, cwd=tmp_path / ".venv" / "work").client_cwd_rel == ".venv/work"
