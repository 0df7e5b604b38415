"""Child processes that find shipped code, classes that find their source, and the end of the process."""

import importlib
import inspect
import io
import multiprocessing
import multiprocessing.reduction
import os
import pickle
import subprocess
import sys
import threading
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from kinetic_runner import children, leftovers, sources
from tests.unit.kinetic_runner.journal import Journal

pytestmark = pytest.mark.usefixtures("own_process")


@pytest.fixture
def taught(monkeypatch: pytest.MonkeyPatch) -> type[pickle.Pickler]:
    """Return the pickler of `multiprocessing`, taught until the test ends."""
    monkeypatch.setattr(ForkingPickler, "reducer_override", None, raising=False)
    children.teach()
    return ForkingPickler


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a module of the project that can be imported here."""
    module = ModuleType("shipped_work")
    source = "def double(x):\n    return 2 * x\nclass Job:\n    def run(self):\n        return 1\nwrapped = [1]\n"
    exec(source, module.__dict__)
    monkeypatch.setitem(sys.modules, "shipped_work", module)
    return module


def by_value(thing: Any, **names: str) -> Any:
    """Return a copy of a function or class, as if it had travelled."""
    if isinstance(thing, FunctionType):
        made: Any = FunctionType(thing.__code__, thing.__globals__, thing.__name__)
        made.__qualname__ = thing.__qualname__
    else:
        made = type(thing.__name__, thing.__bases__, dict(vars(thing)))
    made.__module__ = names.get("module", "shipped_work")
    made.__qualname__ = names.get("qualname", made.__qualname__)
    return made


def through(pickler: type[pickle.Pickler], value: Any) -> Any:
    """Send a value as a pool would."""
    stream = io.BytesIO()
    pickler(stream).dump(value)
    return pickle.loads(stream.getvalue())


def test_what_came_by_value_arrives_as_what_the_module_holds(taught: type[pickle.Pickler], shipped: ModuleType) -> None:
    function, cls = by_value(shipped.double), by_value(shipped.Job)
    assert through(taught, function) is shipped.double
    assert through(taught, [cls, cls]) == [shipped.Job, shipped.Job]
    assert type(through(taught, cls())) is shipped.Job
    assert through(taught, by_value(shipped.Job.run)) is shipped.Job.run


def test_what_can_be_imported_as_itself_is_pickled_as_ever(taught: type[pickle.Pickler], shipped: ModuleType) -> None:
    values = [shipped.double, len, Path, {"a": 1}, Path("/x")]
    assert through(taught, values) == values


@pytest.mark.parametrize("names", [{"qualname": "wrapped"}, {"qualname": "gone"}, {"module": "never_shipped"}])
def test_what_has_no_twin_fails_as_it_would_anywhere(
    taught: type[pickle.Pickler], shipped: ModuleType, names: dict[str, str]
) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        through(taught, by_value(shipped.double, **names))


def test_functions_within_functions_fail_as_they_would_anywhere(taught: type[pickle.Pickler]) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match="local"):
        through(taught, lambda: 1)


def test_a_function_without_a_module_fails_as_it_would_anywhere(
    taught: type[pickle.Pickler], shipped: ModuleType
) -> None:
    function = by_value(shipped.double)
    function.__module__ = None
    assert children.by_name(None, function) is NotImplemented


def test_the_main_script_is_said_to_be_out_of_reach(taught: type[pickle.Pickler], shipped: ModuleType) -> None:
    with pytest.raises(pickle.PicklingError, match=r"'double' belongs to the main script.*move it into a module"):
        through(taught, by_value(shipped.double, module="__main__"))


def test_the_pickler_is_taught_when_it_is_loaded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "multiprocessing"]:
        monkeypatch.delitem(sys.modules, name)
    children.teach()
    finder = sys.meta_path[0]
    assert finder.find_spec("anything.else", None) is None
    reduction = importlib.import_module("multiprocessing.reduction")
    assert reduction.ForkingPickler.reducer_override is children.by_name
    assert finder not in sys.meta_path


def test_a_module_that_is_nowhere_to_be_found_is_not_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "multiprocessing.reduction")
    children.teach()
    assert sys.meta_path[0].find_spec("multiprocessing.reduction", ["/nowhere"]) is None


def test_classes_of_modules_that_are_not_imported_find_their_file(
    monkeypatch: pytest.MonkeyPatch, shipped: ModuleType, tmp_path: Path
) -> None:
    monkeypatch.setattr(inspect, "getfile", inspect.getfile)
    file = tmp_path / "never.py"
    sources.teach({"never_shipped": str(file), "shipped_work": str(file)})
    getfile: Any = inspect.getfile
    assert getfile(by_value(shipped.Job, module="never_shipped")) == str(file)
    assert getfile(by_value(shipped.Job)) == str(file)
    assert "pathlib" in getfile(Path)
    assert getfile(test_functions_within_functions_fail_as_they_would_anywhere) == __file__
    with pytest.raises(TypeError):
        getfile(shipped.Job)


def test_a_class_that_alone_came_of_its_module_finds_the_file_that_an_import_would_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tmp_path.joinpath("lonely/deep").mkdir(parents=True)
    for name in ("lonely/__init__.py", "lonely/shapes.py", "lonely/deep/more.py"):
        tmp_path.joinpath(name).write_text("raise AssertionError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(inspect, "getfile", inspect.getfile)
    sources.teach({})
    getfile: Any = inspect.getfile

    def found(module: str) -> Any:
        return getfile(type("Bare", (), {"__module__": module}))

    for name in ("lonely.shapes", "lonely.deep.more"):
        assert found(name) == str(tmp_path / f"{name.replace('.', '/')}.py")
    assert found("lonely") == str(tmp_path / "lonely/__init__.py")
    for name in ("lonely.gone", "lonely.shapes.below", "gone.at.all"):
        with pytest.raises((OSError, TypeError)):
            found(name)


ENDING = """
import os, string, sys
from kinetic_runner.leftovers import spare_the_end

TOLD = "class Told:\\n    def __del__(self):\\n        write(1, self.text)\\nmade = Told()"
exec(TOLD, early := {"write": os.write})
string.early = early["made"]
string.early.text = b"imported before\\n"
sys.told = type(string.early)()
sys.told.text = b"of the interpreter\\n"
spare_the_end()
exec(TOLD, late := {"write": os.write})
string.late = late["made"]
string.late.text = b"of the job\\n"
"""


def test_only_what_was_imported_before_is_spared_at_the_end() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=True)
    assert sorted(ended.stdout.splitlines()) == ["of the interpreter", "of the job"]


@pytest.mark.usefixtures("alone")
def test_with_nothing_left_behind_the_process_ends_as_ever(journal: Journal) -> None:
    with pytest.raises(SystemExit) as ended:
        leftovers.leave(3, journal)
    assert ended.value.code == 3
    assert journal.text_of_all == ""


class Gone(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what happens at the end of a process that does not end here."""
    acts: list[str] = []

    def end(code: int) -> None:
        acts.append(f"exit {code}")
        raise Gone

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr("atexit._run_exitfuncs", lambda: acts.append("exit hooks"))
    return acts


@pytest.mark.usefixtures("alone")
def test_threads_left_behind_are_named_and_exit_hooks_run(journal: Journal, endings: list[str]) -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="prefetch")
    thread.start()
    try:
        with pytest.raises(Gone):
            leftovers.leave(1, journal)
    finally:
        release.set()
        thread.join()
    assert endings == ["exit hooks", "exit 1"]
    assert journal.warnings == ["thread 'prefetch' was left running and is not waited for"]


@pytest.mark.usefixtures("alone")
def test_daemon_threads_need_no_mention(journal: Journal) -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, daemon=True)
    thread.start()
    with pytest.raises(SystemExit):
        leftovers.leave(0, journal)
    release.set()
    thread.join()


class Child:
    """A child process, as `multiprocessing` shows it."""

    def __init__(self, name: str, *, daemon: bool) -> None:
        self.name, self.daemon, self.pid = name, daemon, 7


@pytest.mark.usefixtures("alone")
def test_child_processes_left_behind_are_named_and_not_joined(
    journal: Journal, endings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        multiprocessing, "active_children", lambda: [Child("loader", daemon=False), Child("helper", daemon=True)]
    )
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(Gone):
        leftovers.leave(0, journal)
    assert endings == ["exit 0"]
    assert journal.warnings == ["child process loader (pid 7) was left running and is not waited for"]


@pytest.mark.usefixtures("alone")
def test_children_are_not_asked_for_where_there_can_be_none(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "multiprocessing")
    with pytest.raises(SystemExit):
        leftovers.leave(0, journal)
