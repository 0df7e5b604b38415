import builtins
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kinetic_core.packaging.entry import entry_of
from tests.unit.kinetic_core.packaging.trees import load, surroundings

WRAPPING = """
import functools

def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

class Caller:
    def __init__(self, function):
        self.function = function
        functools.update_wrapper(self, function)
    def __call__(self):
        return self.function()
"""


@pytest.fixture
def user(tmp_path: Path) -> ModuleType:
    methods = "    def fit(self):\n        pass\n    def __call__(self):\n        pass\n"
    source = f"def train(*a):\n    pass\n\nclass Model:\n{methods}"
    return load(tmp_path / "user" / "train.py", source)


@pytest.fixture
def library(tmp_path: Path) -> ModuleType:
    return load(tmp_path / "library" / "decorators.py", WRAPPING)


def evaluated(source: str, namespace: dict[str, Any]) -> Any:
    builtins.exec(source, namespace)
    return namespace["f"]


def directory(function: object) -> Path:
    return entry_of(function, surroundings()).directory


def test_the_entry_directory_is_that_of_the_defining_modules_file(user: ModuleType, tmp_path: Path) -> None:
    entry = entry_of(user.train, surroundings())
    assert (entry.directory, entry.has_source) == (tmp_path / "user", True)
    assert "train.py" in entry.explanation


def test_chains_of_partials_are_looked_through(user: ModuleType, tmp_path: Path) -> None:
    class Step(functools.partial[Any]):
        pass

    assert directory(Step(functools.partial(user.train, 1), 2)) == tmp_path / "user"


def test_wrappers_made_with_wraps_are_looked_through(user: ModuleType, library: ModuleType, tmp_path: Path) -> None:
    assert directory(library.wrapped(library.wrapped(user.train))) == tmp_path / "user"
    assert directory(functools.partial(library.wrapped(user.train))) == tmp_path / "user"
    assert directory(functools.cache(user.train)) == tmp_path / "user"


def test_a_callable_instance_that_wraps_a_function_is_looked_through(
    user: ModuleType, library: ModuleType, tmp_path: Path
) -> None:
    assert directory(library.Caller(user.train)) == tmp_path / "user"


def test_bound_methods_lead_to_the_module_of_the_method(user: ModuleType, library: ModuleType, tmp_path: Path) -> None:
    model = user.Model()
    inherited = type("Sub", (user.Model,), {"__module__": library.__name__})()
    assert directory(model.fit) == tmp_path / "user"
    assert directory(inherited.fit) == tmp_path / "user"


def test_a_callable_instance_leads_to_the_module_of_its_class(user: ModuleType, tmp_path: Path) -> None:
    assert directory(user.Model()) == tmp_path / "user"


def test_the_class_of_a_callable_instance_counts_not_where_call_was_inherited_from(
    user: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = load(tmp_path / "other" / "sub.py", "BASE = object\n")
    monkeypatch.setitem(sys.modules, "kinetic_test_other", other)
    sub = type("Sub", (user.Model,), {"__module__": "kinetic_test_other"})
    assert directory(sub()) == tmp_path / "other"


def test_methods_that_attrs_and_namedtuple_generate_do_not_hide_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
import attrs
from collections import namedtuple

@attrs.define
class Trainer:
    rate: float = 0.1

    def __call__(self):
        return self.rate

class Point(namedtuple("Base", "x y")):
    def __call__(self):
        return self.x
"""
    module = load(tmp_path / "made" / "classes.py", source)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert directory(module.Trainer()) == tmp_path / "made"
    assert directory(module.Point(1, 2)) == tmp_path / "made"


@pytest.mark.parametrize(
    "namespace",
    [
        {},
        {"__name__": "__main__"},
        {"__name__": "__main__", "__file__": "<stdin>"},
        {"__name__": "__main__", "__file__": "<ipython-input-3-0123456789ab>"},
        {"__name__": "__main__", "__file__": "/usr/lib/python3.13/_pyrepl/__main__.py"},
        {"__name__": "__main__", "__file__": None},
        {"__name__": "__main__", "__file__": ""},
    ],
)
def test_code_from_a_prompt_or_a_cell_has_no_source_and_takes_the_working_directory(
    namespace: dict[str, Any], tmp_path: Path
) -> None:
    entry = entry_of(evaluated("def f(): pass", namespace), surroundings(cwd=tmp_path))
    assert (entry.directory, entry.has_source) == (tmp_path, False)
    assert str(tmp_path) in entry.explanation


def test_a_class_from_a_cell_has_no_source_though_its_module_is_called_main(tmp_path: Path) -> None:
    made = evaluated("class f:\n    def __call__(self): pass", {"__name__": "__main__"})
    assert entry_of(made(), surroundings(cwd=tmp_path)).has_source is False


def test_code_made_by_exec_belongs_to_the_module_whose_globals_it_runs_in(user: ModuleType, tmp_path: Path) -> None:
    code = compile("def f(): pass", "<string>", "exec")
    builtins.exec(code, vars(user))
    assert directory(user.f) == tmp_path / "user"


def test_a_function_written_in_c_has_no_source(tmp_path: Path) -> None:
    functions: tuple[object, ...] = (len, [].append, str.upper, dict.fromkeys)
    for function in functions:
        assert entry_of(function, surroundings(cwd=tmp_path)).has_source is False


def test_a_relative_file_counts_from_the_working_directory(tmp_path: Path) -> None:
    function = evaluated("def f(): pass", {"__file__": "sub/train.py"})
    (tmp_path / "sub").mkdir()
    assert entry_of(function, surroundings(cwd=tmp_path)).directory == tmp_path / "sub"


def test_a_module_inside_a_zip_archive_lies_where_the_archive_lies(tmp_path: Path) -> None:
    (tmp_path / "app.pyz").write_bytes(b"PK")
    function = evaluated("def f(): pass", {"__file__": str(tmp_path / "app.pyz" / "pkg" / "train.py")})
    assert directory(function) == tmp_path


def test_the_links_of_the_file_stay_unresolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    module = load(tmp_path / "alias" / "train.py")
    assert directory(module.train) == tmp_path / "alias"


def test_wrappers_that_wrap_one_another_come_to_an_end(user: ModuleType) -> None:
    def one() -> None: ...
    def two() -> None: ...

    vars(one)["__wrapped__"], vars(two)["__wrapped__"] = two, one
    assert directory(one) == Path(__file__).parent


def test_an_object_that_answers_to_every_attribute_comes_to_an_end() -> None:
    class Anything:
        def __getattr__(self, name: str) -> "Anything":
            return Anything()

        def __call__(self) -> None: ...

    assert directory(Anything()) == Path(__file__).parent


def test_an_object_whose_attributes_raise_wraps_nothing() -> None:
    class Brittle:
        @property
        def __wrapped__(self) -> Callable[..., Any]:
            raise RuntimeError("no")

        def __call__(self) -> None: ...

    assert directory(Brittle()) == Path(__file__).parent


def test_a_class_whose_module_is_gone_has_no_source(tmp_path: Path) -> None:
    orphan = type("Orphan", (), {"__module__": "kinetic_no_such_module"})
    assert entry_of(orphan(), surroundings(cwd=tmp_path)).has_source is False
