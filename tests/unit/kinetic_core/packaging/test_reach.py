import json
import sys
import textwrap
from types import FunctionType, ModuleType
from typing import Any

import pytest

from kinetic_core.packaging.reach import class_body_values, closure_values, code_inside, global_values, module_reads
from tests.unit.kinetic_core.packaging.projects import Project


@pytest.fixture
def modules(project: Project) -> dict[str, ModuleType]:
    project.write(
        {
            "pkg/__init__.py": "X = 1\nfrom json import dumps",
            "pkg/sub.py": "V = 2\ndef f(): pass",
            "helpers.py": "A = 1\nB = 2\nLOCK = 3",
        }
    )
    names = ("pkg", "pkg.sub", "helpers")
    return {name: project.load(name) for name in names}


def reads(source: str, modules: dict[str, ModuleType]) -> list[tuple[str, str]]:
    """Return what the function `f` of a source reads of the modules."""
    namespace: dict[str, Any] = {"pkg": modules["pkg"], "helpers": modules["helpers"], "json": json}
    exec(source, namespace)
    return sorted({(module.__name__, name) for module, name in module_reads(namespace["f"], modules)})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(): return helpers.A", [("helpers", "A")]),
        ("def f(): return pkg.sub.f()", [("pkg", "sub"), ("pkg.sub", "f")]),
        ("def f(): return helpers.A.real.imag", [("helpers", "A")]),
        ("def f(): return helpers.ABSENT, helpers.B", [("helpers", "B")]),
        ("def f(): return pkg.dumps(1)", [("pkg", "dumps")]),
        (
            "def f(): return getattr(pkg, 'sub').V, hasattr(helpers, 'B')",
            [("helpers", "B"), ("pkg", "sub"), ("pkg.sub", "V")],
        ),
        ("def f(): return getattr(helpers, 5, helpers)", []),
        ("def f(): return print(helpers, 'A')", []),
        ("def f(): return json.dumps(1)", []),
        ("def f(helpers): return helpers.A", []),
        ("def f(self): return self.LOCK, helpers.A", [("helpers", "A")]),
        ("def f(): return [helpers.A for _ in ()], lambda: helpers.B", [("helpers", "A"), ("helpers", "B")]),
        ("def f():\n    class C:\n        a = helpers.A\n    return C", [("helpers", "A")]),
        ("def f():\n    def g(): return 1\n    return g() + helpers.A", [("helpers", "A")]),
        ("def outer(module):\n    def f(): return module.A\n    return f\nf = outer(helpers)", [("helpers", "A")]),
        ("def f(): return 1", []),
        ("def f(): helpers", []),
    ],
)
def test_what_is_read_of_a_module_is_seen(
    modules: dict[str, ModuleType], source: str, expected: list[tuple[str, str]]
) -> None:
    assert reads(source, modules) == expected


def test_a_module_of_the_same_name_that_is_another_one_is_not_followed(modules: dict[str, ModuleType]) -> None:
    impostor = ModuleType("helpers")
    vars(impostor)["A"] = 1
    namespace: dict[str, Any] = {"helpers": impostor}
    exec("def f(): return helpers.A", namespace)
    assert list(module_reads(namespace["f"], modules)) == []


def test_code_inside_code_is_found_at_any_depth() -> None:
    def outer() -> Any:
        class Inner:
            def method(self) -> Any:
                return lambda: [x + 1 for x in (1, 2)]

        return Inner

    names = {code.co_name for code in code_inside(outer.__code__)}
    assert {"outer", "Inner", "method", "<lambda>"} <= names


def test_closure_variables_without_a_value_are_left_out() -> None:
    def outer() -> FunctionType:
        def inner() -> Any:
            return bound, unbound

        bound = 1
        if bound > 1:
            unbound = 2
        assert isinstance(inner, FunctionType)
        return inner

    assert list(closure_values(outer())) == [("bound", 1)]


def test_the_globals_are_those_that_the_code_names_and_the_module_has() -> None:
    def function() -> Any:
        return sys.path, lambda: json, absent  # type: ignore[name-defined]  # noqa: F821

    assert isinstance(function, FunctionType)
    assert dict(global_values(function)) == {"sys": sys, "json": json}


def test_what_only_shares_a_globals_name_is_none() -> None:
    namespace: dict[str, Any] = {"data": 1, "json": json}
    exec("def function(batch):\n    from x import data\n    import json as j\n    return batch.data, j", namespace)
    assert dict(global_values(namespace["function"])) == {}


def test_bodies_of_classes_inside_read_globals_until_they_set_the_name() -> None:
    source = """
        def function():
            class Inner:
                path = path
                json = None
                held = json
                def method(self):
                    return sys
            return Inner
    """
    namespace: dict[str, Any] = {"path": "here", "json": json, "sys": sys, "__name__": "m"}
    exec(textwrap.dedent(source), namespace)
    assert dict(class_body_values(namespace["function"])) == {"path": "here", "__name__": "m"}
    assert dict(global_values(namespace["function"])) == {"path": "here", "__name__": "m", "sys": sys}
