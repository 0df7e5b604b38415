"""Whether the runner waits for a debugger, and what it does with what it is told; a real one attaches in the system
tests, whose processes it may trace."""

import sys
from pathlib import Path

import pytest

from kinetic_runner import debugger, image
from kinetic_runner.arguments import Arguments
from kinetic_runner.debugger import is_wanted
from kinetic_runner.job import Job, begin
from kinetic_runner.stages import DEBUGGER
from tests.system.runner.artifacts import Bench
from tests.unit.kinetic_runner.inprocess import run_here
from tests.unit.kinetic_runner.journal import Journal

# Waits as the real one does: `cancel` may be called once the wait has begun, and not before.
STAND_IN = """
import threading
said = []
comes = False
def listen(address): said.append(address)
class Waiting:
    ended = None
    def __call__(self):
        threading.Event().wait(0.3)
        self.ended = threading.Event()
        comes or self.ended.wait()
    def cancel(self):
        if self.ended is None: raise RuntimeError("wait_for_client() must be called first")
        self.ended.set()
wait_for_client = Waiting()
def is_client_connected(): return comes
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a module in the place of the debugger: this process is traced already, for coverage."""
    folder = tmp_path / "image"
    folder.mkdir()
    folder.joinpath("debugpy.py").write_text(STAND_IN)
    monkeypatch.setattr(image, "_PATH", (str(folder), *sys.path))
    monkeypatch.delitem(sys.modules, "debugpy", raising=False)
    return folder / "debugpy.py"


def job(journal: Journal, tmp_path: Path, **environ: str) -> Job:
    asked = Arguments(context="c", payload="p.pkl", result="r", workspace=str(tmp_path))
    return begin(asked, {"KINETIC_DEBUG": "127.0.0.1:5678", **environ}, journal, host_index=0, scratch=tmp_path)


@pytest.mark.usefixtures("own_process")
def test_a_job_that_nobody_attaches_to_goes_on_also_where_the_time_is_up_at_once(
    stand_in: Path, journal: Journal, tmp_path: Path
) -> None:
    debugger.set_up(job(journal, tmp_path, KINETIC_DEBUG_WAIT_TIMEOUT="0"))
    assert sys.modules["debugpy"].said == [("127.0.0.1", 5678)]
    assert journal.warnings == ["no debugger attached in 0 s; the job goes on, and one may attach still"]
    assert sys.modules["debugpy"].__file__ == str(stand_in)


@pytest.mark.usefixtures("own_process")
def test_a_wait_that_is_no_number_is_told_and_the_usual_one_is_taken(
    stand_in: Path, journal: Journal, tmp_path: Path
) -> None:
    stand_in.write_text(STAND_IN.replace("comes = False", "comes = True"))
    debugger.set_up(job(journal, tmp_path, KINETIC_DEBUG_WAIT_TIMEOUT="soon"))
    assert journal.warnings == ["KINETIC_DEBUG_WAIT_TIMEOUT='soon' is no number of seconds and is ignored"]
    assert "waiting up to 600 s" in journal.text_of_all
    assert "a debugger has attached" in journal.text_of_all


@pytest.mark.parametrize("address", ["5678", "127.0.0.1:http", ":5678"])
def test_an_address_that_is_none_is_refused(address: str, journal: Journal, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no address to listen on"):
        debugger.set_up(job(journal, tmp_path, KINETIC_DEBUG=address))


def test_an_image_without_a_debugger_is_told_of(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "_PATH", ())
    monkeypatch.delitem(sys.modules, "debugpy", raising=False)
    with pytest.raises(RuntimeError, match=r"install kinetic-run\[debug\]"):
        debugger.set_up(job(journal, tmp_path))


def test_of_several_hosts_the_first_waits() -> None:
    asked = {"KINETIC_DEBUG": "127.0.0.1:5678"}
    assert [is_wanted(asked, host) for host in (0, 1)] == [True, False]
    assert not is_wanted({}, 0)


@pytest.mark.usefixtures("own_process", "stand_in")
def test_the_debugger_is_set_up_when_all_is_in_place_and_just_before_the_call(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINETIC_DEBUG", "127.0.0.1:5678")
    monkeypatch.setenv("KINETIC_DEBUG_WAIT_TIMEOUT", "0")
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal) == 0
    lines = [line.removeprefix("kinetic: ") for line in journal.text_of_all.splitlines()]
    told = [line for line in lines if line in ("data resolve", DEBUGGER[0], "execute")]
    assert told == ["data resolve", "debugger setup", "execute"]
