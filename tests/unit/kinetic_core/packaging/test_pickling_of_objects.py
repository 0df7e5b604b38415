"""Classes, hints, caches and callables of the project."""

import functools
import sys
import textwrap
import types
import typing

import pytest

from kinetic_core.packaging import byname
from tests.unit.kinetic_core.packaging.projects import Project

HINTS = """
    import functools, typing

    P = typing.ParamSpec("P")
    R = typing.TypeVar("R", bound="Node")
    Ts = typing.TypeVarTuple("Ts")

    class Node:
        id: "NodeId"

    NodeId = typing.NewType("NodeId", Node)
    Node.__annotations__["id"] = NodeId

    def traced(f: typing.Callable[P, R]) -> typing.Callable[P, R]:
        @functools.wraps(f)
        def inner(*args: P.args, **kwargs: P.kwargs) -> R:
            return f(*args, **kwargs)
        return inner

    def spread(*items: *Ts) -> tuple[*Ts]:
        return items

    @traced
    def f(node: NodeId) -> typing.Any:
        return Node.__annotations__["id"].__supertype__ is Node, spread(1, 2), NodeId(3), P.__name__, Ts.__name__
"""


def test_classes_with_a_machinery_of_their_own_travel(project: Project) -> None:
    project.write(
        {
            "kinds.py": """
                import abc, dataclasses, enum, typing

                T = typing.TypeVar("T")

                class Colour(enum.Enum):
                    RED = 1

                class Mode(enum.Flag):
                    A = 1
                    B = 2

                @dataclasses.dataclass(frozen=True, slots=True)
                class Point:
                    x: int
                    y: int = 2

                class Pair(typing.NamedTuple):
                    a: int
                    b: str = "b"

                class Base(abc.ABC):
                    @abc.abstractmethod
                    def name(self):
                        return "base"

                class Derived(Base, typing.Generic[T]):
                    def name(self):
                        return super().name() + " of derived"
            """,
            "job.py": """
                import dataclasses
                from kinds import *
                from kinds import T

                def f(colour, mode, point, pair, derived):
                    same = colour is Colour.RED, mode == Mode.A | Mode.B, isinstance(derived, Base), T.__name__
                    fields = [field.name for field in dataclasses.fields(point)]
                    return same, fields, point.y, pair.b, pair._fields, derived.name()
            """,
        }
    )
    kinds, job = project.load("kinds"), project.load("job")
    arguments = (kinds.Colour.RED, kinds.Mode.A | kinds.Mode.B, kinds.Point(1), kinds.Pair(1), kinds.Derived())
    project.package(job.f, *arguments)
    expected = ((True, True, True, "T"), ["x", "y"], 2, "b", ("a", "b"), "base of derived")
    assert project.run_elsewhere() == expected


def test_members_of_enums_keep_attributes_of_their_own(project: Project) -> None:
    project.write(
        {
            "job.py": """
                import enum

                class Size(enum.Enum):
                    SMALL = (1, 2)
                    LITTLE = (1, 2)
                    def __init__(self, width, height):
                        self.width, self.height = width, height

                class Unit(float, enum.Enum):
                    METRE = (1.5, "m")
                    def __new__(cls, value, symbol):
                        member = float.__new__(cls, value)
                        member._value_, member.symbol = value, symbol
                        return member

                class Plain(enum.Flag):
                    A = 1

                def f(given):
                    same = Size.LITTLE is Size.SMALL, given is Unit.METRE
                    return Size.SMALL.height, *same, given.symbol, Plain.A.name
            """,
        }
    )
    job = project.load("job")
    project.package(job.f, job.Unit.METRE)
    assert project.run_elsewhere() == (2, True, True, "m", "A")


def test_a_foreign_type_variable_travels_by_reference(project: Project) -> None:
    project.write({"job.py": "from typing import AnyStr\ndef f(): return AnyStr.__name__"})
    project.package(project.load("job").f)
    assert project.run_elsewhere() == "AnyStr"


def test_a_cached_helper_is_imported_from_the_workspace(project: Project) -> None:
    project.write(
        {
            "helpers.py": "import functools\n@functools.lru_cache\ndef double(n): return 2 * n",
            "job.py": "from helpers import double\ndef f(n): return double(n)",
        }
    )
    project.package(project.load("job").f, 4)
    assert project.run_elsewhere(path=[project.root]) == 8
    assert "No module named 'helpers'" in project.try_elsewhere().stderr


def test_a_cached_helper_that_no_name_leads_to_travels_with_an_empty_cache(project: Project) -> None:
    @functools.lru_cache(maxsize=7, typed=True)
    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    fibonacci(5)
    project.package(lambda: (fibonacci.cache_info().currsize, fibonacci(20), fibonacci.cache_parameters()))
    assert project.run_elsewhere() == (0, 6765, {"maxsize": 7, "typed": True})


def test_annotations_that_name_classes_of_this_project_travel_as_text(project: Project) -> None:
    project.write(
        {
            "job.py": """
                from kinetic_core.references.data import Data

                def f(data: Data, more: list[Data] | None = None, n: int = 1) -> Data:
                    return f.__annotations__["more"], f.__annotations__["n"].__name__, C().tell()

                class C:
                    data: Data

                    def tell(self):
                        return C.__annotations__["data"]
            """,
        }
    )
    project.package(project.load("job").f, "path")
    name = "kinetic_core.references.data.Data"
    assert project.run_elsewhere() == (f"list[{name}] | None", "int", name)


def test_partials_methods_and_callable_instances_travel(project: Project) -> None:
    project.write(
        {
            "job.py": """
                import functools

                class Adder:
                    def __init__(self, n): self.n = n
                    def __call__(self, x): return self.add(x)
                    def add(self, x): return x + self.n

                add_two = functools.partial(lambda a, b: a + b, 2)
            """
        }
    )
    job = project.load("job")
    for function in (job.add_two, job.Adder(2), job.Adder(2).add):
        project.package(function, 5)
        assert project.run_elsewhere() == 7


@pytest.mark.parametrize("name", ["job", "__main__"])
def test_hints_that_pickle_by_name_alone_travel_by_value(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module = types.ModuleType(name)
    module.__file__ = str(project.root / "job.py")
    monkeypatch.setitem(sys.modules, name, module)
    project.write({"job.py": HINTS})
    exec(compile((project.root / "job.py").read_text(), module.__file__, "exec"), vars(module))
    project.package(module.f, None)
    assert project.run_elsewhere() == (True, (1, 2), 3, "P", "Ts")


def test_a_parameter_keeps_its_bound_and_its_module() -> None:
    parameter: typing.Any = typing.ParamSpec  # its bound has no meaning for type checkers, but it is there
    make, arguments, (_, attributes) = byname.parameter(parameter("P", bound=int))
    made = make(*arguments)
    assert (made.__name__, made.__bound__, made.__covariant__) == ("P", int, False)
    assert attributes == {"__module__": __name__}


@pytest.mark.skipif(sys.version_info < (3, 13), reason="parameters have defaults since Python 3.13")
def test_a_parameter_keeps_its_default() -> None:
    namespace: dict[str, typing.Any] = {}
    exec("import typing\nP = typing.ParamSpec('P', default=[int])", namespace)
    make, arguments, _ = byname.parameter(namespace["P"])
    assert make(*arguments).__default__ == [int]


def test_foreign_hints_travel_by_reference(project: Project) -> None:
    project.write({"job.py": "from tests.unit.kinetic_core.packaging.projects import FOREIGN\ndef f(): return FOREIGN"})
    project.package(project.load("job").f)
    assert b"NewType" not in project.payload.read_bytes()


ALIASES = """
    type Json = dict[str, Several[Json]] | int
    type Several[T] = list[T]
    type Count = int

    def f(value: Json) -> Several[int]:
        same = f.__annotations__["value"] is Json
        return type(Json).__name__, str(Count.__value__), len(Several.__type_params__), same
"""
needs_aliases = pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement came with Python 3.12")


@needs_aliases
def test_aliases_travel_by_value_but_for_those_that_name_themselves(project: Project) -> None:
    project.write({"job.py": ALIASES})
    project.package(project.load("job").f, 1)
    assert "No module named 'job'" in project.try_elsewhere().stderr
    assert project.run_elsewhere(path=[project.root]) == ("TypeAliasType", "<class 'int'>", 1, True)


@needs_aliases
def test_an_alias_of_the_main_script_that_names_itself_becomes_its_name(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(textwrap.dedent(ALIASES), vars(main))
    project.package(main.f, 1)
    assert project.run_elsewhere() == ("ForwardRef", "<class 'int'>", 1, True)


def test_a_cached_property_travels_without_its_lock(project: Project) -> None:
    project.write(
        {
            "job.py": """
                import functools

                class Model:
                    @functools.cached_property
                    def size(self):
                        "How large."
                        return [__class__.__name__]

                def f():
                    model = Model()
                    return model.size is model.size, model.size, Model.size.__doc__, Model.size.attrname
            """
        }
    )
    project.package(project.load("job").f)
    assert project.run_elsewhere() == (True, ["Model"], "How large.", "size")
