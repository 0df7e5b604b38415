import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from kinetic_core.errors import RemoteError, ResultUnavailableError
from kinetic_core.packaging.collecting import load_result
from kinetic_core.wire.result import Result
from tests.unit.kinetic_core.packaging.projects import Project


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., Path]:
    def write(value: Any, *, dumps: Callable[[Any], bytes] = cloudpickle.dumps) -> Path:
        path = tmp_path / "result.pkl"
        path.write_bytes(dumps(Result(success=True, result=value).to_dict()))
        return path

    return write


def make_class(**members: Any) -> type[Any]:
    """Make a class that travels by value."""
    return type("Local", (), {"__module__": "__main__", **members})


def test_a_value_comes_home(store: Callable[..., Path]) -> None:
    loaded = load_result(store({"a": (1, 2)}))
    assert (loaded.success, loaded.result) == (True, {"a": (1, 2)})


def test_a_class_that_was_sent_out_is_found_again(store: Callable[..., Path]) -> None:
    local = make_class()
    assert type(load_result(store(local())).result) is local


def test_a_class_that_is_found_again_is_left_as_it_is(store: Callable[..., Path]) -> None:
    local = make_class(count=1)
    path = store(local())
    local.count = 2
    local.added = "here"
    loaded = load_result(path).result
    assert type(loaded) is local
    assert (local.count, local.added) == (2, "here")


def test_an_enum_that_is_found_again_keeps_its_members(store: Callable[..., Path]) -> None:
    import enum

    local = enum.Enum("local", {"RED": 1}, module="__main__")
    loaded = load_result(store([local.RED, local])).result
    assert loaded[0] is local.RED
    assert loaded[1] is local


def test_a_class_of_the_pod_comes_whole(tmp_path: Path) -> None:
    path = tmp_path / "result.pkl"
    run_in_another_process(
        f"""
        import cloudpickle
        class Local:
            count = 3
            def double(self): return 2 * self.count
        with open({str(path)!r}, "wb") as stream:
            cloudpickle.dump({{"success": True, "result": Local()}}, stream)
        """
    )
    assert load_result(path).result.double() == 6


def test_results_of_one_job_share_the_classes_of_the_pod(tmp_path: Path) -> None:
    first, second = tmp_path / "1.pkl", tmp_path / "2.pkl"
    run_in_another_process(
        f"""
        import cloudpickle
        class Local: pass
        for name in {[str(first), str(second)]!r}:
            with open(name, "wb") as stream:
                cloudpickle.dump({{"success": True, "result": Local()}}, stream)
        """
    )
    one, other = load_result(first).result, load_result(second).result
    assert type(one) is type(other)
    assert type(one).__name__ == "Local"


def run_in_another_process(source: str) -> None:
    """Run a program as the pod would."""
    import subprocess
    from textwrap import dedent

    subprocess.run([sys.executable, "-c", dedent(source)], check=True)


REGISTRY_SOURCE = """
    SEEN = []

    class Base:
        def __init_subclass__(cls, **keywords):
            SEEN.append(cls.__name__)

    class Known(Base):
        limit = 1
"""


def test_a_registry_of_subclasses_hears_of_nothing(project: Project, tmp_path: Path) -> None:
    project.write({"registry.py": REGISTRY_SOURCE})
    registry = project.load("registry")
    assert registry.SEEN == ["Known"]

    def work() -> Any:
        class Made(registry.Base):  # type: ignore[misc, name-defined]
            size = 7

        return Made(), registry.Known()

    project.package(work)
    path = tmp_path / "result.pkl"
    run_in_another_process(
        f"""
        import cloudpickle, pickle
        with open({str(project.payload)!r}, "rb") as stream:
            payload = pickle.load(stream)
        with open({str(path)!r}, "wb") as stream:
            cloudpickle.dump({{"success": True, "result": payload["func"]()}}, stream)
        """
    )
    before = dict(vars(registry.Known))
    made, known = load_result(path).result
    assert registry.SEEN == ["Known"]
    assert type(known) is registry.Known
    assert dict(vars(registry.Known)) == before
    assert isinstance(made, registry.Base)
    assert made.size == 7
    assert type(made).__bases__ == (registry.Base,)


def test_no_registry_of_cloudpickle_or_pickle_changes(store: Callable[..., Path]) -> None:
    import copyreg

    before = (dict(copyreg.dispatch_table), cloudpickle.list_registry_pickle_by_value())
    load_result(store([make_class()(), lambda: 1]))
    assert (dict(copyreg.dispatch_table), cloudpickle.list_registry_pickle_by_value()) == before


def test_a_missing_module_is_named(store: Callable[..., Path]) -> None:
    path = store(b"", dumps=lambda raw: b"\x80\x05\x8c\x0fpod_only_module\x8c\x05Thing\x93.")
    with pytest.raises(ResultUnavailableError, match="needs the module 'pod_only_module'") as caught:
        load_result(path)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert path.exists()


@pytest.mark.parametrize("cut", [0, 1, 5, 20, -1])
def test_a_truncated_result_is_told_as_that(store: Callable[..., Path], cut: int) -> None:
    path = store("x" * 100)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ResultUnavailableError, match=r"result\.pkl is incomplete or damaged"):
        load_result(path)


def test_any_failure_while_loading_is_told_with_its_cause(store: Callable[..., Path]) -> None:
    class Failing:
        def __reduce__(self) -> Any:
            return int, ("no number",)

    with pytest.raises(ResultUnavailableError, match="ValueError: invalid literal for int"):
        load_result(store(Failing()))
    exiting = store(0, dumps=lambda raw: b"\x80\x05\x8c\x03sys\x8c\x04exit\x93\x8c\x03bye\x85R.")
    with pytest.raises(ResultUnavailableError, match="SystemExit: bye"):
        load_result(exiting)
    with pytest.raises(ResultUnavailableError, match="not a result record: list"):
        load_result(store(0, dumps=lambda raw: pickle.dumps([])))


def test_a_json_result_is_read_without_any_pickle(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"success": True, "result": {"a": [1, None]}, "host_index": 0}))
    assert load_result(path).result == {"a": [1, None]}


def test_a_pickle_under_the_name_of_a_json_result_is_never_opened(tmp_path: Path) -> None:
    path, trace = tmp_path / "result.json", tmp_path / "touched"

    class Touching:
        def __reduce__(self) -> Any:
            return Path.touch, (trace,)

    path.write_bytes(pickle.dumps({"success": True, "result": Touching()}))
    with pytest.raises(ResultUnavailableError, match="damaged or no JSON"):
        load_result(path)
    assert not trace.exists()


def test_an_exception_in_json_comes_home_as_a_remote_error(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    exception = {"type": "QuotaError", "module": "job", "message": "no quota"}
    path.write_text(json.dumps({"success": False, "exception": exception, "traceback": "Traceback …"}))
    loaded = load_result(path)
    assert isinstance(loaded.exception, RemoteError)
    assert str(loaded.exception) == "QuotaError: no quota"
    assert (loaded.exception.type_name, loaded.exception.message) == ("job.QuotaError", "no quota")
    assert loaded.exception.traceback == "Traceback …"
    assert loaded.traceback == "Traceback …"


@pytest.mark.parametrize("content", ["[]", "{}", "{", '{"success": false, "exception": {}}', "null"])
def test_json_that_is_no_result_is_told_as_that(tmp_path: Path, content: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(content)
    with pytest.raises(ResultUnavailableError, match=r"result\.json is incomplete, damaged or no JSON"):
        load_result(path)


def test_what_is_used_of_cloudpickles_internals_is_as_expected() -> None:
    """Fails loudly when a new cloudpickle moves what collecting has to rely on."""
    import enum
    import typing

    internals = cloudpickle.cloudpickle
    local, kind = make_class(), enum.Enum("kind", {"A": 1}, module="__main__")
    variable = typing.TypeVar("variable")
    for value, position, reduced in (
        (local, 4, internals._dynamic_class_reduce(local)[1]),
        (kind, 5, internals._dynamic_class_reduce(kind)[1]),
        (variable, 5, internals._decompose_typevar(variable)),
    ):
        assert internals._DYNAMIC_CLASS_TRACKER_BY_ID[reduced[position]] is value
    assert internals._dynamic_class_reduce(local)[0].__name__ == "_make_skeleton_class"
    assert internals._dynamic_class_reduce(kind)[0].__name__ == "_make_skeleton_enum"
    assert internals._make_typevar.__name__ == "_make_typevar"
