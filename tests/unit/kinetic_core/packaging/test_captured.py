import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.errors import SerializationError
from kinetic_core.packaging.captured import refuse_captured
from kinetic_core.references.data import Data
from tests.unit.kinetic_core.packaging.projects import Project


def refuse(project: Project, function: Callable[..., Any]) -> None:
    """Look for Data in what a function captures."""
    refuse_captured(function, matches=lambda value: isinstance(value, Data), first_party=project.first_party())


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("def f(x, path=DATA): pass", "default value 'path' of f"),
        ("def f(*, path=DATA): pass", "default value 'path' of f"),
        ("def f(): return DATA", "global 'DATA' of module job"),
        (
            "def make():\n    d = DATA\n    def f(): return d\n    return f\nf = make()",
            "closure variable 'd' of make.<locals>.f",
        ),
        ("CFG = {'a': [1, DATA]}\ndef f(): return CFG", "global 'CFG' of module job['a'][1]"),
        ("def g(): return DATA\ndef f(): return g()", "global 'DATA' of module job"),
        ("import other\ndef f(): return other.PATH", "global 'PATH' of module other"),
        ("f = functools.partial(print, DATA)", "the arguments of a partial[0]"),
        ("f = functools.partial(print, end=[DATA])", "the keyword arguments of a partial['end'][0]"),
        ("f = functools.partial(lambda x=DATA: x)", "default value 'x' of <lambda>"),
        ("class C:\n    def m(self): return DATA\nf = C().m", "global 'DATA' of module job"),
        ("class C:\n    path = DATA\ndef f(): return C", "attribute 'path' of class C"),
        ("class C:\n    @property\n    def p(self): return DATA\ndef f(): return C", "global 'DATA' of module job"),
        ("class C:\n    @classmethod\n    def p(cls): return DATA\ndef f(): return C", "global 'DATA' of module job"),
        ("@functools.lru_cache\ndef g(): return DATA\ndef f(): return g()", "global 'DATA' of module job"),
        ("def f():\n    class C:\n        path = DATA\n    return C", "global 'DATA' of module job"),
        ("S = {DATA}\ndef f(): return S", "somewhere in global 'S' of module job"),
    ],
)
def test_captured_data_is_refused_by_name(project: Project, source: str, place: str) -> None:
    project.write(
        {
            "other.py": "from kinetic_core.references.data import Data\nPATH = Data('/')",
            "job.py": f"import functools\nfrom kinetic_core.references.data import Data\nDATA = Data('/')\n{source}",
        }
    )
    with pytest.raises(SerializationError, match=re.escape(f"captures: {place}; pass it as an argument")):
        refuse(project, project.load("job").f)


@pytest.mark.parametrize(
    "source",
    [
        "class C:\n    def __init__(self): self.data = DATA\nHELD = C()\ndef f(): return HELD",
        "def f(): return 1",
        "def f(batch): return batch.DATA",
        "def f():\n    class C:\n        DATA = 1\n        held = DATA\n    return C",
        "def f(x, y=(1, [2])): return len(str(x))",
        "import loop_a\ndef f(): return loop_a.g",
    ],
)
def test_attributes_of_objects_are_left_alone(project: Project, source: str) -> None:
    project.write(
        {
            "loop_a.py": "import loop_b\ndef g(): return loop_b.h",
            "loop_b.py": "import loop_a\ndef h(): return loop_a.g",
            "job.py": f"from kinetic_core.references.data import Data\nDATA = Data('/')\n{source}",
        }
    )
    function = project.load("job").f
    refuse(project, function)
    assert callable(function)


def test_code_that_travels_by_reference_is_not_looked_into(project: Project, tmp_path: Path) -> None:
    assert OURS.is_dir
    refuse(project, functools.partial(reads_ours))


OURS = Data("/")


def reads_ours() -> Data:
    """Read a global of a module that is not first-party here."""
    return OURS


def test_all_places_are_named_together(project: Project) -> None:
    first, second = Data("/"), Data("/")
    with pytest.raises(SerializationError, match=r"closure variable 'first' .*; closure variable 'second' "):
        refuse(project, lambda: (first, second))
