"""Opening payloads: names of files, and the private names that this depends on."""

import io
import pickle
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle
import pytest

from kinetic_core.packaging.collecting import load_result
from kinetic_core.wire.plan import Plan
from kinetic_runner import advice, jsonformat
from kinetic_runner.filenames import FileNames
from kinetic_runner.loading import load_pickle, load_plain
from kinetic_runner.travel import HomePickler, try_loading
from tests.system.runner.artifacts import CLIENT_ROOT, pickled, script


@pytest.fixture
def names(tmp_path: Path) -> FileNames:
    """Return a translation to a workspace that holds `train.py` and `pkg/`."""
    workspace = tmp_path / "w"
    workspace.joinpath("pkg").mkdir(parents=True)
    workspace.joinpath("train.py").touch()
    workspace.joinpath("pkg/__init__.py").touch()
    return FileNames(package_root=CLIENT_ROOT, workspace=workspace)


def load(tmp_path: Path, names: FileNames, value: Any, *, keep_files: bool = True) -> Any:
    """Load a value as the function of a payload."""
    path = tmp_path / "payload.pkl"
    path.write_bytes(pickled({"func": value, "args": (), "kwargs": {}}, keep_files=keep_files))
    return load_pickle(path, names)["func"]


def test_cloudpickle_names_the_makers_that_the_loader_replaces() -> None:
    asked: set[tuple[str, str]] = set()

    class Spy(pickle.Unpickler):
        def find_class(self, module: str, name: str, /) -> Any:
            asked.add((module, name))
            return super().find_class(module, name)

    function = script("def f():\n    return f\n")["f"]
    Spy(io.BytesIO(cloudpickle.dumps((function, ModuleType("never_imported"))))).load()
    for name in ("_make_function", "_function_setstate", "dynamic_subimport"):
        assert ("cloudpickle.cloudpickle", name) in asked


@pytest.mark.parametrize("keep_files", [True, False])
def test_code_names_the_workspace_at_every_depth(tmp_path: Path, names: FileNames, keep_files: bool) -> None:
    source = "def f():\n    def g():\n        return lambda: [x for x in ()]\n    return g\n"
    function = load(tmp_path, names, script(source)["f"], keep_files=keep_files)
    expected = str(tmp_path / "w/train.py")

    def files(code: CodeType) -> set[str]:
        inner = [const for const in code.co_consts if isinstance(const, CodeType)]
        return {code.co_filename}.union(*map(files, inner))

    assert files(function.__code__) == {expected}


def test_functions_of_one_module_share_their_globals_and_its_file(tmp_path: Path, names: FileNames) -> None:
    namespace = script("def f():\n    return __file__, g\ndef g():\n    return f\n")
    function = load(tmp_path, names, namespace["f"])
    file, other = function()
    assert file == str(tmp_path / "w/train.py")
    assert other() is function
    assert other.__globals__ is function.__globals__


def test_functions_whose_module_has_no_name_are_loaded(tmp_path: Path, names: FileNames) -> None:
    namespace = script("def f():\n    return __file__\n")
    namespace["__name__"] = None
    function = FunctionType(namespace["f"].__code__, namespace, "f")
    function.__module__ = "__main__"
    assert load(tmp_path, names, function)() == str(tmp_path / "w/train.py")


def test_functions_without_a_file_are_left_as_they_are(tmp_path: Path, names: FileNames) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": None}
    exec("def f():\n    return 1\n", namespace)
    function = load(tmp_path, names, namespace["f"])
    assert function() == 1
    assert function.__code__.co_filename == "<string>"


def test_a_module_that_came_by_value_lies_in_the_workspace(tmp_path: Path, names: FileNames) -> None:
    module = ModuleType("pkg_by_value")
    module.__file__ = f"{CLIENT_ROOT}/pkg/__init__.py"
    module.__path__ = [f"{CLIENT_ROOT}/pkg", "/elsewhere", b"odd"]  # type: ignore[list-item]
    arrived = load(tmp_path, names, module)
    assert arrived.__file__ == str(tmp_path / "w/pkg/__init__.py")
    assert arrived.__path__ == [str(tmp_path / "w/pkg"), "/elsewhere", b"odd"]
    assert arrived.__spec__.origin == arrived.__file__
    assert load(tmp_path, names, ModuleType("bare")).__spec__ is None


def test_names_of_other_files_stay(names: FileNames) -> None:
    assert names.to_pod("/usr/lib/x.py") == "/usr/lib/x.py"
    assert names.to_pod(f"{CLIENT_ROOT}/gone.py") == f"{CLIENT_ROOT}/gone.py"
    assert names.to_pod(f"{CLIENT_ROOT}-other/train.py") == f"{CLIENT_ROOT}-other/train.py"
    assert names.to_client("/usr/lib/x.py") == "/usr/lib/x.py"


@pytest.mark.parametrize("root", ["", "/", "C:\\proj"])
def test_a_root_that_means_nothing_here_translates_nothing(root: str, tmp_path: Path) -> None:
    names = FileNames(package_root=root, workspace=tmp_path)
    inside = str(tmp_path / "a.py")
    assert names.to_pod(inside) == inside
    assert names.to_client(inside) == inside
    assert names.text_to_client(f'File "{inside}"') == f'File "{inside}"'


def test_the_same_code_stays_the_same_code(names: FileNames) -> None:
    code = script("def f():\n    return 1\n")["f"].__code__
    assert names.code_to_pod(code, None) is names.code_to_pod(code, None)


def test_texts_get_the_clients_names(names: FileNames, tmp_path: Path) -> None:
    assert names.text_to_client(f'File "{tmp_path}/w/a.py", line 1') == f'File "{CLIENT_ROOT}/a.py", line 1'


@pytest.mark.parametrize("content", ["[]", '{"func": 1, "args": []}'])
def test_json_that_is_no_payload_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "payload.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"the payload (is a list|lacks 'kwargs')"):
        load_plain(path, jsonformat)


def write(path: Path, value: Any) -> Path:
    path.write_bytes(pickled(value))
    return path


PLAN = Plan(package_root="/p")


def explain(tmp_path: Path, error: Exception, **payload: Any) -> Exception:
    """Explain an error with a payload of these items."""
    return advice.loading_failure(error, write(tmp_path / "p", payload), PLAN)


def test_a_missing_module_of_which_nothing_is_known_gets_advice(tmp_path: Path) -> None:
    explained = explain(tmp_path, ModuleNotFoundError("No module named 'a'", name="a"), modules_by_value=["b"])
    assert isinstance(explained, ModuleNotFoundError)
    assert explained.name == "a"
    assert "add it to the dependency file, or, where it is the project's own, to the package root" in str(explained)


def test_the_clients_own_package_is_told_by_what_brings_it(tmp_path: Path) -> None:
    error = ModuleNotFoundError("No module named 'kinetic'", name="kinetic")
    assert "add kinetic-run to the dependency file or the image" in str(explain(tmp_path, error))


def test_what_the_client_knew_of_a_missing_module_is_told(tmp_path: Path) -> None:
    plan = Plan(package_root="/p", excluded={"ignore-file": 2})
    fingerprint = {"distributions": {"no-such-distribution": "1.2", "pytest": "1.0"}}
    payload = {"client_fingerprint": fingerprint, "modules_by_value": ["pkg.a"]}
    error = ModuleNotFoundError("No module named 'pkg.b'", name="pkg.b")
    told = str(advice.loading_failure(error, write(tmp_path / "p", payload), plan))
    assert "the client sent code of it by value" in told
    assert "no-such-distribution 1.2" in told
    assert "2 excluded at the client (ignore-file: 2)" in told
    assert "client pytest 1.0 / pod pytest" in told


def test_another_error_under_skew_names_both_sides(tmp_path: Path) -> None:
    explained = explain(tmp_path, AttributeError("gone"), client_fingerprint={"python": "3.99.0"})
    assert isinstance(explained, RuntimeError)
    assert "AttributeError: gone\nclient Python 3.99.0 / pod Python" in str(explained)


def test_a_missing_module_without_a_name_is_told_as_it_is(tmp_path: Path) -> None:
    error = ModuleNotFoundError("odd")
    assert explain(tmp_path, error) is error


@pytest.mark.parametrize("fingerprint", [None, "text", {"distributions": ["no", "mapping"]}, {"python": 3}])
def test_a_fingerprint_that_is_none_does_no_harm(tmp_path: Path, fingerprint: Any) -> None:
    error = ValueError("x")
    assert explain(tmp_path, error, client_fingerprint=fingerprint) is error
    assert advice.skew_lines({"client_fingerprint": fingerprint}) == ()


def test_hints_of_other_errors_say_nothing_of_files() -> None:
    plan = Plan(package_root="/p", excluded={"data": 2})
    assert advice.hints(ValueError(), {}, plan) == []
    assert advice.hints(FileNotFoundError(), {}, PLAN) == []
    assert len(advice.hints(ModuleNotFoundError(), {}, plan)) == 1


def test_functions_by_value_of_another_python_are_refused_and_those_by_reference_load(
    tmp_path: Path, names: FileNames
) -> None:
    path = tmp_path / "payload.pkl"
    path.write_bytes(pickled({"func": len, "args": (), "kwargs": {}}))
    assert load_pickle(path, names, same_python=False)["func"] is len
    path.write_bytes(pickled({"func": lambda: 1, "args": (), "kwargs": {}}))
    with pytest.raises(RuntimeError, match="bytecode"):
        load_pickle(path, names, same_python=False)


SUBCLASSES = """
import abc

REGISTRY = {}

class Base:
    def __init_subclass__(cls, *, name):
        if name in REGISTRY:
            raise ValueError("taken")
        REGISTRY[name] = cls
        cls.name = name

class Child(Base, name="child"):
    pass

class Kind(abc.ABCMeta):
    def __new__(metaclass, name, bases, namespace, *, unit):
        made = super().__new__(metaclass, name, bases, namespace)
        made.unit = unit
        return made

    def __init__(cls, name, bases, namespace, *, unit):
        super().__init__(name, bases, namespace)

class Length(metaclass=Kind, unit="m"):
    def text(self):
        return f"{__class__.unit}"

class Slotted(Base, name="slotted"):
    __slots__ = ("held",)

def f():
    made = Slotted()
    made.held = 1
    return Child.name, isinstance(Child(), Base), sorted(REGISTRY), Length().text(), type(Length).__name__, made.held
"""


def test_classes_whose_making_asks_for_keywords_arrive(tmp_path: Path, names: FileNames) -> None:
    path = tmp_path / "payload.pkl"
    sent = script(SUBCLASSES)
    path.write_bytes(pickled({"func": sent["f"], "args": (), "kwargs": {}}))
    # As in another process: cloudpickle finds what this one sent out.
    cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.clear()
    function = load_pickle(path, names)["func"]
    assert function.__globals__["Child"] is not sent["Child"]
    assert function() == ("child", True, ["child", "slotted"], "m", "Kind", 1)
    # Their instances go home, and are read there without telling the bases either.
    for name in ("Child", "Length", "Slotted"):
        home = io.BytesIO()
        HomePickler(home, names).dump({"success": True, "result": function.__globals__[name]()})
        home.seek(0)
        assert try_loading(home)["success"]
        path.with_name("result.pkl").write_bytes(home.getvalue())
        cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.clear()
        assert type(load_result(path.with_name("result.pkl")).result).__name__ == name


def test_a_class_that_cannot_be_made_at_all_says_why(tmp_path: Path, names: FileNames) -> None:
    made = pickled({"func": type("Local", (), {"__module__": "__main__"}), "args": (), "kwargs": {}})
    path = tmp_path / "payload.pkl"
    path.write_bytes(made.replace(b"Local", b"Lo\0al"))
    cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.clear()
    with pytest.raises(ValueError, match="null characters"):
        load_pickle(path, names)
