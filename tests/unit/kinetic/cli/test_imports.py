"""Third-party imports: found in the source, told apart from the project's own, compared with the dependency file."""

import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kinetic.cli.imports import declared_distributions, third_party_imports


def make_module(root: Path, source: str, name: str = "job") -> ModuleType:
    path = root / f"{name}.py"
    path.write_text(source)
    module = ModuleType(name)
    module.__file__ = str(path)
    return module


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    module = make_module(
        tmp_path,
        "import attrs.validators\n"
        "from pluggy import HookspecMarker\n"
        "def f():\n    import cloudpickle as cp\n"
        "try:\n    import no_such_thing\nexcept ImportError:\n    pass\n",
    )

    found = third_party_imports([module], tmp_path, None)

    assert [(one.module, one.distribution, one.declared) for one in found] == [
        ("attrs", "attrs", None),
        ("cloudpickle", "cloudpickle", None),
        ("no_such_thing", None, None),
        ("pluggy", "pluggy", None),
    ]
    assert found[0].version == importlib.metadata.version("attrs")
    assert found[0].used_by == ("job",)


def test_what_is_no_third_party_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "__init__.py").touch()
    (tmp_path / "plain").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    module = make_module(
        tmp_path,
        "from __future__ import annotations\n"
        "import json, helpers, plain.thing, kinetic\n"
        "from . import sibling\n"
        "from typing import TYPE_CHECKING\nimport typing\n"
        "if TYPE_CHECKING:\n    import rich\nelse:\n    import attrs\n"
        "if typing.TYPE_CHECKING:\n    import typer\n",
    )

    assert [one.module for one in third_party_imports([module], tmp_path, None)] == ["attrs"]


def test_what_is_installed_below_the_root_is_third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / ".venv" / "lib" / "site-packages"
    site.mkdir(parents=True)
    (site / "vendored_thing.py").touch()
    monkeypatch.syspath_prepend(str(site))
    module = make_module(tmp_path, "import vendored_thing\n")

    assert [one.module for one in third_party_imports([module], tmp_path, None)] == ["vendored_thing"]


@pytest.mark.parametrize("content", ["def broken(:\n", "\0"])
def test_a_module_without_readable_source_has_no_imports(tmp_path: Path, content: str) -> None:
    gone = ModuleType("gone")
    gone.__file__ = str(tmp_path / "gone.py")

    found = third_party_imports([make_module(tmp_path, content), gone, sys, ModuleType("bare")], tmp_path, None)

    assert found == ()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("requirements.txt", "# first\nScikit_Learn[all] >= 1.5 ; python_version > '3'  # why\n-i https://x\n\nattrs"),
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = ["scikit-learn", "Attrs>=1"]\n'),
    ],
)
def test_declared_names_are_normalised(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)

    assert declared_distributions(path) == {"scikit-learn", "attrs"}


@pytest.mark.parametrize("content", ["[project", "", "project = 1", "[project]\ndependencies = 1"])
def test_a_dependency_file_that_tells_nothing_declares_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(content)

    assert declared_distributions(path) == frozenset()
    assert declared_distributions(tmp_path / "gone.txt") == frozenset()


def test_a_distribution_named_otherwise_than_its_module_is_looked_up(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("pytest-xdist\n")
    module = make_module(tmp_path, "import xdist\nimport hypothesis\n")

    found = third_party_imports([module], tmp_path, path)

    assert [(one.distribution, one.declared) for one in found] == [("hypothesis", False), ("pytest-xdist", True)]
