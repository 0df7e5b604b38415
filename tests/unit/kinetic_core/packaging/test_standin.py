from types import FunctionType, ModuleType
from typing import Any

import pytest

from kinetic_core.packaging.standin import standin_getattr
from tests.unit.kinetic_core.packaging.projects import Project


def stand_in(name: str) -> ModuleType:
    """Make what a module becomes on the pod, without anything that was read of it."""
    made = ModuleType(name)
    # The same code in the namespace of the stand-in, as loading the payload makes it.
    vars(made)["__getattr__"] = FunctionType(standin_getattr(made).__code__, vars(made), "__getattr__")
    return made


@pytest.fixture
def package(project: Project) -> ModuleType:
    project.write(
        {
            "pkg/__init__.py": """
                X = [1]
                def __getattr__(name):
                    if name == "lazy":
                        return "made"
                    raise AttributeError(name)
            """,
            "pkg/sub.py": "V = 2",
            "plain.py": "Y = 3",
        }
    )
    return stand_in("pkg")


def test_the_function_belongs_to_the_module() -> None:
    module = ModuleType("pkg")
    function = standin_getattr(module)
    assert (function.__module__, function.__name__, function.__qualname__) == ("pkg", "__getattr__", "__getattr__")
    assert function.__globals__ is vars(module)
    assert function.__code__.co_filename == "<kinetic>"


def test_an_attribute_is_that_of_the_real_module(project: Project, package: ModuleType) -> None:
    assert package.X is project.load("pkg").X


def test_a_submodule_is_imported(project: Project, package: ModuleType) -> None:
    assert package.sub is project.load("pkg.sub")


def test_the_real_modules_own_getattr_is_asked_last(package: ModuleType) -> None:
    assert package.lazy == "made"
    with pytest.raises(AttributeError, match="absent"):
        _ = package.absent


def test_a_module_that_is_no_package_has_no_submodule(package: ModuleType) -> None:
    plain = stand_in("plain")
    assert plain.Y == 3
    with pytest.raises(AttributeError, match="module 'plain' has no attribute 'absent'"):
        _ = plain.absent


def test_special_names_import_nothing(project: Project) -> None:
    project.write({"broken.py": "raise SystemExit"})
    with pytest.raises(AttributeError, match="module 'broken' has no attribute '__wrapped__'"):
        _ = stand_in("broken").__wrapped__


def test_a_module_that_cannot_be_imported_is_named(project: Project) -> None:
    with pytest.raises(AttributeError, match=r"module 'gone' travelled without 'x'.*No module named 'gone'") as caught:
        _ = stand_in("gone").x
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_stand_in_in_the_modules_own_place_is_no_endless_recursion(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = stand_in("self_made")
    monkeypatch.setitem(__import__("sys").modules, "self_made", made)
    with pytest.raises(AttributeError, match="module 'self_made' travelled without 'x'"):
        _ = made.x
