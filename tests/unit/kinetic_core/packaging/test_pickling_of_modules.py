"""Modules of the project that a function refers to as objects."""

import importlib.util
import sys
from typing import Any

import pytest

from tests.unit.kinetic_core.packaging.projects import HELPERS, Project

LATE = """
    import sys, types

    class Late(types.ModuleType):
        def __getattr__(self, name):
            if name == "made_late":
                return VALUE + 1
            raise AttributeError(name)

    VALUE = 1

    def tell():
        return VALUE

    sys.modules[__name__].__class__ = Late
"""


def test_a_module_object_neither_drags_its_other_globals_along_nor_fails_on_them(project: Project) -> None:
    project.write({"helpers.py": HELPERS, "job.py": "import helpers\ndef f(): return helpers.RATE"})
    project.package(project.load("job").f)
    assert b"LOCK" not in project.payload.read_bytes()
    assert project.run_elsewhere() == 1


def test_a_module_and_its_functions_share_one_namespace(project: Project, trainer: Any) -> None:
    project.package(trainer.train, 1, trainer.Model(1), rate=9)
    function = project.loaded()["func"]
    helpers = function.__globals__["helpers"]
    assert helpers.set_rate.__globals__ is vars(helpers)
    assert function(1, helpers.Model(1), rate=4)[:3] == (4, 4, True)


def test_modules_that_refer_to_one_another_travel(project: Project) -> None:
    project.write(
        {
            "one.py": "import two\ndef f(n): return n if n > 9 else two.g(n + 1)",
            "two.py": "import one\ndef g(n): return one.f(n * 2)",
        }
    )
    project.package(project.load("one").f, 1)
    assert project.run_elsewhere() == 10


def test_a_submodule_travels_whether_it_is_read_by_attribute_or_by_name(project: Project) -> None:
    project.write(
        {
            "pkg/__init__.py": "",
            "pkg/sub.py": "V = 42\ndef file(): return __file__",
            "job.py": """
                import pkg, pkg.sub
                def f(): return pkg.sub.V, getattr(pkg, "sub").V
            """,
        }
    )
    project.package(project.load("job").f)
    assert project.run_elsewhere() == (42, 42)


def test_what_the_body_of_a_class_inside_a_function_reads_travels(project: Project) -> None:
    project.write(
        {
            "helpers.py": "import threading\nLOCK = threading.Lock()\nWIDTH = 3\nclass Base: depth = 2",
            "job.py": """
                import dataclasses
                import helpers

                RATE = 4

                def decorate(function): return function

                def f():
                    @dataclasses.dataclass
                    class Config(helpers.Base):
                        rate: int = RATE
                        width: int = helpers.WIDTH
                        class Inner:
                            again = RATE
                        @decorate
                        def area(self, x: helpers.Base = RATE): return self.rate * self.width * self.depth
                    return Config().area(), Config.Inner.again
            """,
        }
    )
    project.package(project.load("job").f)
    assert project.run_elsewhere() == (24, 4)


def test_code_that_is_written_late_still_gets_what_it_reads_of_an_earlier_module(project: Project) -> None:
    project.write(
        {
            "helpers.py": "A = 1\nB = 2\nC = 3\ndef c(): return helpers_again.C\nimport helpers as helpers_again",
            "job.py": "import helpers\ndef f(late): return helpers.A, late()",
            "later.py": "import helpers\ndef g(): return helpers.B, helpers.c()",
        }
    )
    job, later = project.load("job"), project.load("later")
    project.package(job.f, later.g)
    assert project.run_elsewhere() == (1, (2, 3))


def test_what_nobody_saw_being_read_is_imported_from_the_workspace(project: Project) -> None:
    project.write(
        {
            "pkg/__init__.py": "HIDDEN = 'here'",
            "pkg/sub.py": "V = 42",
            "job.py": """
                import pkg
                def f(*names):
                    alias = pkg
                    return [getattr(alias, name, "nowhere") for name in names[:2]], alias.sub.V
            """,
        }
    )
    project.package(project.load("job").f, "HIDDEN", "MISSING")
    assert project.run_elsewhere(path=[project.root]) == (["here", "nowhere"], 42)
    ran = project.try_elsewhere()
    assert "module 'pkg' travelled without 'sub', and cannot be imported here: No module named 'pkg'" in ran.stderr


def test_protocols_asked_of_a_module_import_nothing(project: Project) -> None:
    project.write({"helpers.py": HELPERS, "job.py": "import helpers\ndef f(): return hasattr(helpers, '__wrapped__')"})
    project.package(project.load("job").f)
    (project.root / "helpers.py").write_text("raise SystemExit('imported')")
    assert project.run_elsewhere(path=[project.root]) is False


def test_a_stand_in_that_took_the_modules_own_place_raises_what_is_expected(project: Project) -> None:
    project.write(
        {
            "helpers.py": HELPERS,
            "job.py": """
                import helpers
                def f():
                    import sys
                    sys.modules["helpers"] = helpers
                    name = "absent"
                    return hasattr(helpers, name)
            """,
        }
    )
    project.package(project.load("job").f)
    assert project.run_elsewhere() is False


def test_a_foreign_module_object_travels_by_reference(project: Project) -> None:
    project.write({"job.py": "import json, numpy\ndef f(): return json.dumps([numpy.int64(1).item()])"})
    written = project.package(project.load("job").f)
    assert project.run_elsewhere() == "[1]"
    assert list(written.distributions) == ["numpy"]


def test_what_an_import_sets_is_the_pods_own(project: Project) -> None:
    project.write(
        {
            "pkg/__init__.py": "V = 1",
            "job.py": """
                import pkg
                def f():
                    return pkg.V, pkg.__file__, list(pkg.__path__), pkg.__name__, pkg.__spec__, pkg.__loader__
            """,
        }
    )
    project.package(project.load("job").f)
    namespace = vars(project.loaded()["func"].__globals__["pkg"])
    assert namespace["V"] == 1
    assert namespace["__spec__"] is namespace["__loader__"] is None
    assert project.payload.read_bytes().count(str(project.root / "pkg/__init__.py").encode()) == 1


@pytest.mark.parametrize("folder", ["", "../foreign/"])
def test_a_module_of_a_class_of_its_own_is_imported(
    project: Project, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.syspath_prepend(project.root / folder)
    project.write(
        {
            f"{folder}late.py": LATE,
            "job.py": "import late\ndef f(): return late.VALUE, late.made_late, late.tell(), type(late).__name__",
        }
    )
    project.package(project.load("job").f)
    assert project.run_elsewhere(path=[project.root / folder]) == (1, 2, 1, "Late")
    assert "No module named 'late'" in project.try_elsewhere().stderr


def test_a_module_that_loads_late_is_not_loaded_by_packaging_something_else(project: Project) -> None:
    project.write({"slow.py": "raise SystemExit('loaded')", "job.py": "def f(): return 1"})
    spec = importlib.util.find_spec("slow")
    assert spec is not None
    assert spec.loader is not None
    loader: Any = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    slow = sys.modules["slow"] = importlib.util.module_from_spec(spec)
    loader.exec_module(slow)
    assert "slow" in project.first_party()
    project.package(project.load("job").f)
    del sys.modules["slow"]  # the fixture looks at every module that is there
    assert type(slow).__name__ == "_LazyModule"
