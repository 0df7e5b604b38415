"""How a run may end: values, exceptions, signals, and stores that refuse."""

import errno
import os
import pickle
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from kinetic_runner.delivery import Destination
from kinetic_runner.filenames import FileNames
from kinetic_runner.formats import PICKLE
from kinetic_runner.invoke import Outcome
from kinetic_runner.report import Report
from kinetic_runner.termination import Termination
from tests.fakes.full_disk import full_disk
from tests.system.runner.artifacts import Bench
from tests.unit.kinetic_runner.inprocess import Ended, record_of, run_here
from tests.unit.kinetic_runner.journal import Journal

pytestmark = pytest.mark.usefixtures("own_process")


def test_a_coroutine_is_awaited_and_a_generator_refused(bench: Bench, journal: Journal) -> None:
    bench.define("async def f():\n    return 3")
    assert run_here(bench, journal) == 0
    assert record_of(bench)["result"] == 3
    bench.define("async def f():\n    yield 3")
    assert run_here(bench, journal) == 1
    assert "an async generator" in str(record_of(bench)["exception"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit()", None),
        ("sys.exit(False)", None),
        ("sys.exit('no quota')", "function called sys.exit('no quota')"),
        ("raise GeneratorExit('x')", "function raised GeneratorExit: x"),
        ("raise KeyboardInterrupt", "function raised KeyboardInterrupt"),
    ],
)
def test_how_a_call_may_end(bench: Bench, journal: Journal, body: str, message: str | None) -> None:
    bench.define(f"import sys\ndef f():\n    {body}")
    assert run_here(bench, journal) == (0 if message is None else 1)
    record = record_of(bench)
    assert record["success"] is (message is None)
    assert message is None or str(record["exception"]) == message


def test_a_disk_that_is_full_is_not_blamed_on_the_value(bench: Bench, journal: Journal) -> None:
    bench.define("def f():\n    return 'x' * 500_000")
    with full_disk(100_000):
        assert run_here(bench, journal) == 1
    record = record_of(bench)
    assert (record["phase"], record["exception"].errno) == ("result upload", errno.EFBIG)
    assert Path(record["exception"].filename).parent == bench.folder
    assert "result_repr" not in record
    assert [path.name for path in bench.folder.iterdir() if path.name.endswith(".part")] == []


def test_a_breakpoint_without_a_terminal_is_told_what_to_do_instead(bench: Bench, journal: Journal) -> None:
    bench.define("import bdb\ndef f():\n    raise bdb.BdbQuit")
    assert run_here(bench, journal) == 1
    (note,) = record_of(bench)["exception"].__notes__
    assert "f.local(…)" in note
    assert "debug=True" in note


def test_a_traceback_is_told_where_what_formats_odd_lines_is_absent(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "unicodedata", None)
    bench.define("def f():\n    raise LookupError('nothing there')")
    assert run_here(bench, journal) == 1
    assert "LookupError: nothing there" in record_of(bench)["traceback"]


def test_hints_become_notes_of_the_exception(bench: Bench, journal: Journal) -> None:
    bench.plan["excluded"] = {"ignore-file": 4}
    bench.define("def f():\n    open('gone.csv')")
    assert run_here(bench, journal) == 1
    record = record_of(bench)
    assert record["exception"].__notes__ == [
        "of the files under the package root, 4 excluded at the client (ignore-file: 4)"
    ]
    assert "4 excluded at the client" in record["traceback"]


def test_an_exception_whose_text_and_pickle_fail_is_told_by_its_type(bench: Bench, journal: Journal) -> None:
    source = (
        "class Mute(Exception):\n"
        "    __notes__ = property(lambda self: 1 / 0)\n"
        "    def __str__(self):\n        raise RuntimeError\n"
        "    def __reduce__(self):\n        raise RuntimeError\n"
        "def f():\n    raise Mute\n"
    )
    bench.define(source)
    assert run_here(bench, journal) == 1
    assert str(record_of(bench)["exception"]).startswith("Mute: <Mute: its text raised")


def test_a_result_that_cannot_travel_is_a_failure(bench: Bench, journal: Journal) -> None:
    bench.define("import threading\ndef f():\n    return threading.Lock()")
    assert run_here(bench, journal) == 1
    record = record_of(bench)
    assert record["serialization_failed"] is True
    assert "cannot travel" in journal.warnings[-1]


def test_a_large_result_is_not_rebuilt_for_a_trial(bench: Bench, journal: Journal) -> None:
    source = (
        "class Large:\n"
        "    def __reduce__(self):\n        return (bytes.decode, (b'\\xff' + bytes(65 << 20),))\n"
        "def f():\n    return Large()\n"
    )
    bench.define(source)
    assert run_here(bench, journal) == 0


def test_functions_and_classes_by_value_come_home_with_the_clients_names(bench: Bench, journal: Journal) -> None:
    bench.define("class C:\n    def m(self): return __file__\ndef f():\n    return C, C().m")
    assert run_here(bench, journal) == 0
    cls, _ = record_of(bench)["result"]
    assert cls().m() == "/home/ann/proj/train.py"
    namespace = {"__name__": "__main__"}
    exec("def f():\n    return lambda: 1", namespace)
    bench.payload["func"] = namespace["f"]
    assert run_here(bench, journal) == 0
    assert record_of(bench)["result"]() == 1


class Down:
    """A store that fails a given number of times."""

    def __init__(self, uri: str, scratch: Path, times: int) -> None:
        self.real, self.times = Destination(uri, scratch), times

    def part_file(self) -> Path:
        return self.real.part_file()

    def publish(self, part: Path, log: Any) -> None:
        self.times -= 1
        if self.times >= 0:
            raise PermissionError("refused")
        self.real.publish(part, log)


@pytest.mark.parametrize(("times", "written"), [(1, True), (2, False)])
def test_a_value_that_cannot_be_stored_leaves_a_record_of_that_where_it_can(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch, times: int, written: bool
) -> None:
    monkeypatch.setattr("kinetic_runner.runner.Destination", lambda uri, scratch: Down(uri, scratch, times))
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal) == 1
    record = bench.read("result.pkl")
    assert (record is not None) is written
    if record is not None:
        assert record["phase"] == "result upload"


@pytest.mark.parametrize("where", ["result.pkl", "file/result.pkl"])
def test_sigterm_writes_a_record_and_ends_the_process(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    codes: list[int] = []

    def end(code: int) -> None:
        codes.append(code)
        raise Ended

    bench.folder.joinpath("file").touch()
    source = "import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGTERM)\n"
    bench.define(source)
    monkeypatch.setattr(os, "_exit", end)
    run_here(bench, journal, "--result", bench.uri(where))
    assert codes[0] == 143
    assert "told to stop (SIGTERM) in phase 'execute'" in journal.text_of_all


def test_the_first_sigterm_acts_and_the_second_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    acts: list[str] = []
    monkeypatch.setattr(os, "_exit", lambda code: acts.append(f"exit {code}"))
    termination = Termination(lambda: acts.append(threading.current_thread().name))
    termination.install()
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    assert len(acts) == 2
    assert acts[0] != threading.main_thread().name
    assert acts[1] == "exit 143"


def test_a_fork_dies_of_sigterm_as_any_process_does() -> None:
    termination = Termination(lambda: os._exit(99))
    termination.install()
    child = os.fork()
    if child == 0:
        signal.raise_signal(signal.SIGTERM)
        os._exit(98)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    assert not termination.asked


def test_what_a_fork_does_to_its_signals_leaves_other_handlers_alone() -> None:
    termination = Termination(lambda: None)
    termination.install()
    termination._hold()
    assert signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    termination._forget()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    termination._hold()
    termination._forget()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_a_deferred_sigterm_is_only_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "_exit", lambda _: pytest.fail("ended"))
    termination = Termination(lambda: pytest.fail("acted"))
    termination.install()
    termination.defer()
    signal.raise_signal(signal.SIGTERM)
    assert termination.asked


def test_a_record_of_termination_tells_the_phase(tmp_path: Path, journal: Journal) -> None:
    report = Report(Destination(f"file://{tmp_path}/r.pkl", tmp_path), form=PICKLE, host_index=2, log=journal)
    names = FileNames(package_root="", workspace=tmp_path)
    report.write(Outcome(error=RuntimeError("stopped")), "data resolve", names, terminated=True)
    record = pickle.loads(tmp_path.joinpath("r.pkl").read_bytes())
    assert (record["terminated"], record["phase"], record["host_index"]) == (True, "data resolve", 2)
