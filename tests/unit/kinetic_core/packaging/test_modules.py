import importlib.machinery
import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kinetic_core.model.request import Surroundings
from kinetic_core.packaging.modules import first_party_modules, installed_directories
from kinetic_core.packaging.reach import module_reads


def module(name: str, file: object = None, **attributes: Any) -> ModuleType:
    """Make a module without a file behind it."""
    made = ModuleType(name)
    vars(made).update(attributes, **({"__file__": file} if file is not None else {}))
    return made


def first_party(
    root: Path,
    *modules: Any,
    own: frozenset[str] = frozenset(),
    installed: tuple[str, ...] = (),
    cwd: Path | None = None,
) -> list[str]:
    """Return the names of those that count."""
    here = Surroundings(environ={}, home=root, cwd=cwd or root, sys_path=())
    named = {getattr(entry, "__name__", f"odd{index}"): entry for index, entry in enumerate(modules)}
    return list(first_party_modules(root, here, named, own_packages=own, installed=installed))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "proj"
    (made / "pkg").mkdir(parents=True)
    return made


def test_a_module_below_the_root_counts_and_one_beside_it_does_not(root: Path) -> None:
    inside, deep = module("a", f"{root}/a.py"), module("z.b", f"{root}/pkg/b.py")
    outside, sibling = module("c", f"{root.parent}/c.py"), module("d", f"{root}2/d.py")
    assert first_party(root, deep, inside, outside, sibling) == ["a", "z.b"]


def test_the_main_module_never_counts(root: Path) -> None:
    assert first_party(root, module("__main__", f"{root}/a.py"), module("__mp_main__", f"{root}/a.py")) == []


def test_our_own_packages_never_count_but_those_that_only_sound_like_them_do(root: Path) -> None:
    modules = (
        module("kinetic", f"{root}/k.py"),
        module("kinetic.api", f"{root}/k.py"),
        module("kinetic_utils", f"{root}/u.py"),
    )
    assert first_party(root, *modules, own=frozenset(("kinetic",))) == ["kinetic_utils"]


@pytest.mark.parametrize(
    "folder",
    [
        "lib/python3.11/site-packages/numpy",
        "dist-packages",
        ".venv/lib",
        "venv",
        "node_modules/x",
        ".tox/py",
        "a/.git/hooks",
    ],
)
def test_what_is_installed_below_the_root_does_not_count(root: Path, folder: str) -> None:
    (root / folder).mkdir(parents=True)
    assert first_party(root, module("m", f"{root}/{folder}/m.py")) == []


def test_a_root_whose_own_path_has_such_a_name_still_has_modules(tmp_path: Path) -> None:
    root = tmp_path / "venv" / "proj"
    root.mkdir(parents=True)
    assert first_party(root, module("m", f"{root}/m.py")) == ["m"]


def test_a_root_inside_site_packages_has_none(tmp_path: Path) -> None:
    root = tmp_path / "site-packages"
    root.mkdir()
    assert first_party(root, module("m", f"{root}/m.py")) == []


def test_what_lies_below_an_interpreters_prefix_does_not_count(root: Path) -> None:
    files = module("m", f"{root}/env/lib/m.py"), module("n", f"{root}/n.py")
    assert first_party(root, *files, installed=(f"{root}/env",)) == ["n"]


def test_a_prefix_that_holds_the_root_does_not_make_the_project_installed(root: Path) -> None:
    assert first_party(root, module("n", f"{root}/n.py"), installed=(str(root.parent), str(root))) == ["n"]


def test_the_interpreters_own_directories_are_looked_up(root: Path) -> None:
    assert {sys.prefix, sys.base_prefix, sysconfig.get_paths()["stdlib"]} <= set(installed_directories())
    here = Surroundings(environ={}, home=root, cwd=root, sys_path=())
    assert (
        first_party_modules(Path("/"), here, dict(sys.modules), own_packages=()).keys().isdisjoint({"json", "pytest"})
    )


def test_an_extension_module_does_not_count(root: Path) -> None:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    assert first_party(root, module("fast", f"{root}/fast{suffix}")) == []


@pytest.mark.parametrize("entry", [None, 3, "text", module("nameless"), module("odd", 7), module("empty", "")])
def test_what_has_no_file_does_not_count(root: Path, entry: object) -> None:
    assert first_party(root, entry) == []


def test_a_namespace_package_counts_by_its_directory(root: Path) -> None:
    inside = module("space", __path__=[f"{root}/space"])
    outside = module("elsewhere", __path__=["/opt/space", f"{root}/space"])
    assert first_party(root, inside, outside, module("none", __path__=[])) == ["space"]


def test_a_path_that_raises_when_it_is_read_does_not_count(root: Path) -> None:
    class Raising:
        def __iter__(self) -> Any:
            raise KeyError("gone")

    assert first_party(root, module("odd", __path__=Raising())) == []


def test_links_are_seen_through_both_ways(root: Path, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / "linked").symlink_to(elsewhere)
    assert first_party(root, module("m", f"{alias}/m.py")) == ["m"]
    assert first_party(alias, module("m", f"{root}/m.py")) == ["m"]
    assert first_party(root, module("m", f"{root}/linked/m.py")) == ["m"]


def test_a_link_to_installed_packages_does_not_count(root: Path, tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (root / "lib").symlink_to(installed)
    assert first_party(root, module("numpy", f"{root}/lib/numpy.py")) == []


def test_a_relative_file_counts_from_the_working_directory(root: Path) -> None:
    assert first_party(root, module("m", "pkg/m.py")) == ["m"]
    assert first_party(root, module("m", "../m.py")) == []
    assert first_party(root, module("m", "m.py"), cwd=root.parent) == []


def test_a_lazy_module_is_not_loaded_by_being_looked_at(root: Path) -> None:
    (root / "lazy.py").write_text("raise SystemExit('loaded')")
    spec = importlib.util.spec_from_file_location("lazy", root / "lazy.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    lazy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lazy)
    here = Surroundings(environ={}, home=root, cwd=root, sys_path=())
    assert list(first_party_modules(root, here, {"lazy": lazy}, own_packages=(), installed=())) == ["lazy"]


class Pretender:
    """Says of itself that it is a module, as what cffi makes does."""

    def __getattribute__(self, name: str) -> Any:
        return ModuleType if name == "__class__" else object.__getattribute__(self, name)


def test_what_only_says_that_it_is_a_module_is_none(root: Path) -> None:
    pretender: Any = Pretender()
    assert isinstance(pretender, ModuleType)
    assert first_party(root, pretender, module("m", str(root / "m.py"))) == ["m"]
    namespace: dict[str, Any] = {"lib": pretender}
    exec("def f(): return lib.call", namespace)
    assert list(module_reads(namespace["f"], {})) == []


def test_modules_that_are_installed_by_their_names_are_looked_at_once(root: Path, tmp_path: Path) -> None:
    installed = module("numpy", f"{tmp_path}/site-packages/numpy.py")
    beside = module("beside", f"{tmp_path}/beside.py")
    own, relative = module("kinetic.api", f"{root}/k.py"), module("lib", "site-packages/lib.py")
    inside = module("a", f"{root}/a.py")
    modules = {one.__name__: one for one in (installed, beside, own, relative, inside)}
    known: dict[str, ModuleType] = {}
    here = Surroundings(environ={}, home=root, cwd=root, sys_path=())

    def found() -> list[str]:
        return list(first_party_modules(root, here, modules, own_packages=("kinetic",), installed=(), known=known))

    assert found() == ["a"]
    # What only the file system, or the working directory, tells of may be otherwise the next time.
    assert known == {"numpy": installed, "kinetic.api": own}
    modules["numpy"] = module("numpy", f"{root}/numpy.py")
    assert found() == ["a", "numpy"]
