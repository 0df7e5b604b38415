"""Aliases and parameters of later Pythons, here by stand-ins, so that every Python tests their reduction."""

import sys
import types
import typing
from typing import Any

import pytest

from kinetic_core.packaging import byname
from tests.unit.kinetic_core.packaging.projects import Project


class Alias:
    """Looks as what a `type` statement makes."""

    def __init__(self, name: str, value: Any, *, type_params: tuple[Any, ...] = (), module: str = "job") -> None:
        self.__name__ = name
        self.__value__ = value
        self.__type_params__ = type_params
        self.__module__ = module

    def __call__(self) -> None:
        """Type checkers and `typing` take what can be called for a type."""


def test_an_alias_is_made_anew_of_its_parts() -> None:
    variable: Any = typing.TypeVar  # made out of sight of type checkers, which want it bound to its name
    parameter = variable("parameter")
    make, arguments = byname.alias(Alias("Several", types.GenericAlias(list, (parameter,)), type_params=(parameter,)))
    made = make(*arguments)
    assert (type(made), made.__name__, made.__value__.__args__) == (Alias, "Several", (parameter,))
    assert made.__type_params__ == (parameter,)


def test_an_alias_that_names_itself_at_any_depth_becomes_its_name() -> None:
    tree = Alias("Tree", None)
    tree.__value__ = dict[str, Alias("Leaf", list[tree])]  # type: ignore[misc, valid-type]
    assert byname.names_itself(tree)
    make, arguments = byname.alias(tree)
    assert make(*arguments) == typing.ForwardRef("Tree")
    assert not byname.names_itself(Alias("Count", dict[int, tuple[int, int]]))


def test_a_default_of_a_parameter_is_kept() -> None:
    class Parameter:
        def __init__(self, name: str, **keywords: Any) -> None:
            self.__name__ = name
            self.__default__ = keywords.get("default")

        def has_default(self) -> bool:
            return self.__default__ is not None

    for default in (None, [int]):
        make, arguments, _ = byname.parameter(Parameter("P", default=default))
        assert make(*arguments).__default__ == default


@pytest.fixture
def aliases(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with aliases, on a Python that has none."""
    monkeypatch.setattr(byname, "ALIAS", Alias)
    project.write({"job.py": "def f(): return COUNT, TREE"})
    return project


def test_aliases_travel_by_value_unless_they_name_themselves(aliases: Project) -> None:
    job: Any = aliases.load("job")
    job.COUNT, job.TREE = Alias("COUNT", int), Alias("TREE", None)
    job.TREE.__value__ = list[job.TREE]
    aliases.package(job.f)
    written = aliases.payload.read_bytes()
    assert b"COUNT" in written
    job.TREE.__module__ = "__main__"
    aliases.package(job.f)
    assert b"ForwardRef" in aliases.payload.read_bytes()


def test_a_module_of_a_class_of_its_own_that_cannot_be_imported_again_is_refused_as_any_module(
    project: Project,
) -> None:
    class Late(types.ModuleType):
        """A module that nobody finds."""

    project.write({"job.py": "def f(module): return module.__name__"})
    with pytest.raises(ValueError, match="kinetic could not serialize argument 0") as refused:
        project.package(project.load("job").f, Late("nowhere"))
    assert refused.value.__cause__ is not None or "nowhere" in str(refused.value)
    assert "nowhere" not in sys.modules
