"""Whole runs in this process, so that every branch of every phase is seen; and runs on a remote store."""

import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import fsspec
import pytest

from kinetic_runner import stages
from kinetic_runner.__main__ import main
from kinetic_runner.delivery import Destination
from kinetic_runner.fetch import download, fetch, open_url
from kinetic_runner.filenames import FileNames
from kinetic_runner.invoke import Outcome
from kinetic_runner.report import Report
from kinetic_runner.resolve import DataPlaces, Resolver
from kinetic_runner.runner import run
from kinetic_runner.termination import Termination
from tests.system.runner.artifacts import Bench
from tests.unit.kinetic_runner.conftest import Journal

pytestmark = pytest.mark.usefixtures("own_process")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return a bench whose runs keep their private directories in the test's folder."""
    folder = tmp_path / "job"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return Bench(folder=folder)


@pytest.fixture
def memory() -> Iterator[Any]:
    """Return an empty store in memory."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()


def run_here(bench: Bench, journal: Journal, *more: str) -> int:
    """Run the job in this process."""
    return run([*bench.write(), *more], environ=os.environ, log=journal)


def record_of(bench: Bench, name: str = "result.pkl") -> dict[str, Any]:
    """Return a record that must be there."""
    record = bench.read(name)
    assert record is not None
    return record


def test_a_run_in_this_process_writes_its_record(bench: Bench, journal: Journal) -> None:
    bench.define("def f(x):\n    return x + 1", "f", 1)
    assert run_here(bench, journal) == 0
    assert record_of(bench)["result"] == 2
    names = [line.removeprefix("kinetic: ") for line in journal.text_of_all.splitlines()]
    assert [line for line in names if line in dict(stages.PHASES)] == [name for name, _ in stages.PHASES]


def test_main_takes_a_command_line_and_returns_the_exit_code(bench: Bench) -> None:
    bench.define("def f():\n    1 / 0")
    assert main(bench.write()) == 1
    assert isinstance(record_of(bench)["exception"], ZeroDivisionError)


def test_main_reads_the_command_line_of_the_process(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.define("def f():\n    return 1")
    monkeypatch.setattr(sys, "argv", ["kinetic_runner", *bench.write()])
    assert main() == 0


def test_everything_on_a_remote_store(bench: Bench, journal: Journal, memory: Any) -> None:
    bench.define(
        "import os, pathlib\n"
        "def f(tree, file, nothing):\n"
        "    return sorted(os.listdir(tree)), pathlib.Path(file).read_text(), nothing\n"
    )
    for name in ("cache/0a/a.txt", "cache/0a/deep/b.txt", "one.txt"):
        memory.pipe_file(f"/{name}", name.encode())
    reference = {"__data_ref__": True, "mount_path": None, "fuse": False, "is_dir": True}
    bench.payload["args"] = (
        {**reference, "uri": "memory://cache/0a/", "empty_dirs": ["hollow"]},
        {**reference, "uri": "memory://one.txt", "is_dir": False},
        None,
    )
    arguments = bench.write()
    for name in ("context.zip", "payload.pkl"):
        memory.pipe_file(f"/job/{name}", bench.folder.joinpath(name).read_bytes())
    arguments = [word.replace(f"file://{bench.folder}", "memory://job") for word in arguments]
    assert run(arguments, environ=os.environ, log=journal) == 0
    record = pickle.loads(memory.cat_file("/job/result.pkl"))
    assert record["result"] == (["a.txt", "deep", "hollow"], "one.txt", None)
    assert sorted(memory.find("/job")) == ["/job/context.zip", "/job/payload.pkl", "/job/result.pkl"]


def test_requirements_that_are_empty_are_no_install(bench: Bench, journal: Journal) -> None:
    bench.define("def f():\n    return 1")
    bench.folder.joinpath("requirements.txt").write_text("# none\n")
    assert run_here(bench, journal, "--requirements", bench.uri("requirements.txt")) == 0
    assert "nothing to install" in journal.text_of_all


@pytest.mark.parametrize(("exit_code", "folder"), [(0, "bin"), (3, "bin"), (1, "none")])
def test_requirements_are_installed_by_uv_or_pip(
    bench: Bench, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int, folder: str
) -> None:
    program = tmp_path / "bin/uv"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho said >&2\nexit {exit_code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f":{tmp_path / folder}")
    bench.folder.joinpath("requirements.txt").write_text("--no-index\nno-such-distribution-at-all\n")
    bench.define("def f():\n    return 1")
    code = run_here(bench, journal, "--requirements", bench.uri("requirements.txt"))
    assert code == (0 if exit_code == 0 else 1)
    if folder == "bin":
        assert "said" in journal.text_of_all
    if code:
        assert record_of(bench)["phase"] == "requirements install"


def test_other_versions_are_told_once(bench: Bench, journal: Journal) -> None:
    bench.define("def f():\n    return 1")
    bench.payload = {"client_fingerprint": {"python": "3.99.1"}, **bench.payload}
    assert run_here(bench, journal) == 0
    assert journal.text_of_all.count("client Python 3.99.1") == 1


def test_an_image_without_any_installer_is_told(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pip" else pytest.fail(name))
    bench.folder.joinpath("requirements.txt").write_text("numpy\n")
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal, "--requirements", bench.uri("requirements.txt")) == 1
    assert "neither uv nor pip" in str(record_of(bench)["exception"])


def test_versions_that_differ_and_lost_subclasses_are_warnings(bench: Bench, journal: Journal) -> None:
    class Strict(list[Any]):
        def __init__(self, one: Any, two: Any) -> None:
            super().__init__([one, two])

    bench.folder.joinpath("a.txt").touch()
    reference = {"__data_ref__": True, "uri": bench.uri("a.txt"), "is_dir": False, "id": "r1"}
    bench.define("def f(x):\n    return type(x).__name__", "f", Strict(reference, 2))
    bench.payload |= {"client_fingerprint": {"python": "3.99.1"}, "data_ref_ids": ["r1"]}
    assert run_here(bench, journal) == 0
    assert record_of(bench)["result"] == "list"
    assert any("client Python 3.99.1" in warning for warning in journal.warnings)
    assert any("arrives as a plain list" in warning for warning in journal.warnings)


def test_the_link_is_made_and_removed(bench: Bench, journal: Journal, tmp_path: Path) -> None:
    bench.link = True
    bench.define("import os\ndef f(path):\n    return os.readlink(path), os.getcwd()", "f", str(tmp_path / "client"))
    bench.payload["working_dir"] = str(tmp_path / "client")
    assert run_here(bench, journal) == 0
    target, cwd = record_of(bench)["result"]
    assert target == cwd
    assert not os.path.lexists(tmp_path / "client")


def test_a_workspace_of_the_callers_is_left_there(bench: Bench, journal: Journal, tmp_path: Path) -> None:
    bench.define("def f():\n    open('out.txt', 'w').close()")
    assert run_here(bench, journal, "--workspace", str(tmp_path / "w")) == 0
    assert tmp_path.joinpath("w/out.txt").exists()
    assert not list(tmp_path.glob("kinetic-*"))


def test_a_failing_phase_is_a_record_of_that_phase(bench: Bench, journal: Journal) -> None:
    bench.files["../evil"] = "x"
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal) == 1
    record = record_of(bench)
    assert record["phase"] == "context extract"
    assert "'../evil' leads out of the workspace" in str(record["exception"])
    assert "failed in phase 'context extract'" in journal.text_of_all


def test_an_artifact_that_is_not_what_was_sent_is_refused(bench: Bench, journal: Journal) -> None:
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal, "--context-sha256", "0" * 64) == 1
    assert record_of(bench)["phase"] == "artifact verification"


def test_a_context_without_a_plan_is_told(bench: Bench, journal: Journal) -> None:
    bench.plan = None
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal) == 0
    assert any("no packaging plan" in warning for warning in journal.warnings)


def test_a_pickled_payload_that_does_not_load_is_explained(bench: Bench, journal: Journal) -> None:
    bench.payload = {"func": Unloadable(), "args": (), "kwargs": {}, "client_fingerprint": {"python": "3.99.0"}}
    assert run_here(bench, journal) == 1
    record = record_of(bench)
    assert record["phase"] == "payload unpickle"
    assert "client Python 3.99.0" in str(record["exception"])


class Unloadable:
    """Cannot be rebuilt."""

    def __reduce__(self) -> Any:
        return int, ("no number",)


def test_nothing_is_resolved_where_the_payload_says_so(bench: Bench, journal: Journal) -> None:
    bench.define("def f(x):\n    return x", "f", reference("gs://never"))
    bench.payload["has_data_refs"] = False
    assert run_here(bench, journal) == 0
    bench.folder.joinpath("v").mkdir()
    bench.payload["volumes"] = [reference(bench.uri("v"), is_dir=True, mount_path="/v")]
    os.environ["KINETIC_MOUNT_ROOT"] = str(bench.folder / "mounts")
    assert run_here(bench, journal) == 0
    assert record_of(bench)["result"] == reference("gs://never")
    assert bench.folder.joinpath("mounts/v").is_dir()


def test_a_phase_that_is_interrupted_is_a_failure(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kinetic_runner.runner.PHASES", (("data resolve", interrupt),))
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal) == 1
    record = record_of(bench)
    assert isinstance(record["exception"], Exception)
    assert "KeyboardInterrupt" in record["traceback"]


def test_a_fork_that_comes_back_out_of_the_function_ends_there(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(os, "_exit", end)
    # A stand-in for a fork: the process has another id once the function ran.
    bench.define("def f(pretend):\n    pretend()", "f", Pretend())
    monkeypatch.setattr(os, "getpid", lambda: 1 + Pretend.forked)
    with pytest.raises(Ended, match="0"):
        run_here(bench, journal)
    assert bench.read("result.pkl") is None
    monkeypatch.setattr(Pretend, "forked", 0)


class Pretend:
    """Makes the process seem to be another one."""

    forked = 0

    def __call__(self) -> None:
        Pretend.forked = 1


def test_another_host_writes_only_its_failure(bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_WORKER_ID", "1")
    monkeypatch.setenv("LWS_WORKER_INDEX", "x")
    bench.define("def f(x):\n    return 1 / x", "f", 1)
    assert run_here(bench, journal) == 0
    assert bench.read("result.pkl") is None
    bench.payload["args"] = (0,)
    assert run_here(bench, journal) == 1
    assert record_of(bench, "result-worker-1.pkl")["host_index"] == 1


def test_a_bad_host_index_is_told(bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_WORKER_ID", "x")
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal) == 0
    assert any("no host index" in warning for warning in journal.warnings)


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
    ],
)
def test_how_a_call_may_end(bench: Bench, journal: Journal, body: str, message: str | None) -> None:
    bench.define(f"import sys\ndef f():\n    {body}")
    assert run_here(bench, journal) == (0 if message is None else 1)
    record = record_of(bench)
    assert record["success"] is (message is None)
    assert message is None or str(record["exception"]) == message


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


def test_json_calls_and_their_failures(bench: Bench, journal: Journal) -> None:
    bench.json = True
    bench.files["jobs.py"] = "def good(x):\n    return x\ndef bad():\n    return {1}\n"
    for qualname, args, code in (("good", [[1]], 0), ("bad", [], 1), ("gone", [], 1)):
        func = {"module": "jobs", "qualname": qualname, "file": "jobs.py"}
        bench.payload = {"func": func, "args": args, "kwargs": {}, "env_vars": {"FROM_JSON": "1"}}
        assert run_here(bench, journal) == code
    assert os.environ["FROM_JSON"] == "1"
    assert record_of(bench, "result.json")["exception"]["type"] == "AttributeError"


@pytest.mark.parametrize(
    "func",
    [
        "text",
        {"module": "x"},
        {"module": "__main__", "qualname": "f"},
        {"module": None, "qualname": "f"},
        {"module": "__main__", "qualname": "f", "file": "../../etc/passwd"},
        {"module": "__main__", "qualname": "f", "file": "gone.py"},
        {"module": "__main__", "qualname": "f", "file": "notes.txt"},
        {"module": "no_such_module", "qualname": "f"},
    ],
)
def test_a_json_function_that_cannot_be_found_is_a_failure(bench: Bench, journal: Journal, func: Any) -> None:
    bench.json = True
    bench.files["notes.txt"] = "no Python"
    bench.payload = {"func": func, "args": [], "kwargs": {}}
    assert run_here(bench, journal) == 1
    assert record_of(bench, "result.json")["phase"] == "payload unpickle"


def test_a_decorated_function_is_called_as_the_user_wrote_it(bench: Bench, journal: Journal) -> None:
    bench.json = True
    bench.files["jobs2.py"] = (
        "class Remote:\n    def __init__(self, f): self.__wrapped__ = f\n"
        "Remote.__module__ = 'kinetic.api.callable'\n"
        "@Remote\ndef f():\n    return 'inline'\n"
    )
    func = {"module": "__main__", "qualname": "f", "file": "jobs2.py"}
    bench.payload = {"func": func, "args": [], "kwargs": {}}
    assert run_here(bench, journal) == 0
    assert record_of(bench, "result.json")["result"] == "inline"


def test_a_store_that_refuses_leaves_the_reason_in_the_log(bench: Bench, journal: Journal) -> None:
    bench.define("def f():\n    return 1")
    bench.folder.joinpath("file").touch()
    assert run_here(bench, journal, "--result", bench.uri("file/result.pkl")) == 1
    assert journal.text_of_all.count("Traceback") >= 2


def test_without_a_place_for_the_record_the_log_says_why(bench: Bench, journal: Journal) -> None:
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal, "--result", "nosuch://x/result.pkl") == 1
    assert "nosuch" in journal.text_of_all


def test_without_a_private_directory_the_log_says_why(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.define("def f():\n    return 1")
    monkeypatch.setenv("TMPDIR", str(bench.folder / "gone"))
    assert run_here(bench, journal) == 1
    assert "FileNotFoundError" in journal.text_of_all


def test_a_private_directory_that_cannot_be_removed_is_a_warning(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise OSError("busy")

    monkeypatch.setattr("kinetic_runner.job.remove_tree", refuse)
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal) == 0
    assert "busy" in journal.warnings[-1]


def test_phases_that_come_too_early_say_so(bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.define("def f():\n    return 1")
    monkeypatch.setattr("kinetic_runner.runner.PHASES", (("execute", stages.execute),))
    assert run_here(bench, journal) == 1
    assert "before it was loaded" in str(record_of(bench)["exception"])
    monkeypatch.setattr("kinetic_runner.runner.PHASES", (("artifact verification", stages.verify),))
    assert run_here(bench, journal) == 1
    assert "before it was fetched" in str(record_of(bench)["exception"])


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


class Ended(BaseException):
    """Stands for the end of the process."""


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


def test_one_object_is_downloaded_and_hashed_on_the_way(memory: Any, tmp_path: Path, journal: Journal) -> None:
    memory.pipe_file("/a/b.bin", b"abc")
    fetched = fetch("memory://a/b.bin", tmp_path, log=journal, hashed=True)
    assert fetched.path.read_bytes() == b"abc"
    assert fetched.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


class Breaking:
    """A stream that ends in an error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def read(self, _: int) -> bytes:
        raise ConnectionResetError


def test_an_unfinished_download_is_removed(memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe_file("/a", b"abc")
    system, _ = open_url("memory://a")
    monkeypatch.setattr(type(system), "open", lambda *_: Breaking())
    with pytest.raises(ConnectionResetError):
        download("memory://a", tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("uri", "hint"), [("gs://b/x", r"kinetic-run\[gcs\]"), ("sftp://h/x", "fsspec and its driver for it")]
)
def test_a_missing_driver_says_what_to_install(uri: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gcsfs", "paramiko"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"{uri.partition(':')[0]}:// needs a driver .* install {hint}"):
        open_url(uri)


def test_an_absent_local_artifact_is_told_at_once(tmp_path: Path, journal: Journal) -> None:
    with pytest.raises(FileNotFoundError):
        fetch(f"file://{tmp_path}/gone", tmp_path, log=journal, hashed=False)
    assert journal.warnings == []


def reference(uri: str, **more: Any) -> dict[str, Any]:
    return {"__data_ref__": True, "uri": uri, "is_dir": False, "mount_path": None, "fuse": False, "id": "r", **more}


@pytest.fixture
def resolver(tmp_path: Path, journal: Journal) -> Resolver:
    """Return a resolver that takes every reference for real."""
    return Resolver(DataPlaces(directory=tmp_path / "data", mount_root=str(tmp_path / "mounts")), None, journal)


def test_a_directory_that_turns_out_to_be_a_file_is_a_file(memory: Any, resolver: Resolver) -> None:
    memory.pipe_file("/x/one.bin", b"1")
    (path,) = resolver.resolve([reference("memory://x/one.bin", is_dir=True)], {}).args
    assert Path(path).read_bytes() == b"1"
    assert Path(path).name == "one.bin"


def test_a_file_that_turns_out_to_be_a_directory_is_a_directory(memory: Any, resolver: Resolver) -> None:
    memory.pipe_file("/x/y/one.bin", b"1")
    (path,) = resolver.resolve([reference("memory://x/y")], {}).args
    assert Path(path, "one.bin").read_bytes() == b"1"


def test_an_object_whose_name_climbs_is_refused(memory: Any, resolver: Resolver, tmp_path: Path) -> None:
    memory.store["/x/../../evil"] = memory.store.get("/x") or _memory_file(memory)
    with pytest.raises(ValueError, match="leads out of its directory"):
        resolver.resolve([reference("memory://x/", is_dir=True)], {})
    assert not list(tmp_path.rglob("evil"))


def _memory_file(memory: Any) -> Any:
    memory.pipe_file("/other", b"evil")
    return memory.store["/other"]


@pytest.mark.parametrize("name", ["/abs", "../up", "a/../../b"])
def test_an_empty_directory_whose_name_climbs_is_refused(resolver: Resolver, tmp_path: Path, name: str) -> None:
    tmp_path.joinpath("tree").mkdir()
    with pytest.raises(ValueError, match="leads out of its directory"):
        resolver.resolve([reference(f"file://{tmp_path}/tree", is_dir=True, empty_dirs=[name])], {})


@pytest.mark.parametrize("base", ["file://{}/gone/", "memory://gone/"])
def test_a_directory_of_empty_directories_needs_nothing_in_the_store(
    memory: Any, resolver: Resolver, tmp_path: Path, base: str
) -> None:
    (path,) = resolver.resolve([reference(base.format(tmp_path), is_dir=True, empty_dirs=["a/b"])], {}).args
    assert Path(path, "a/b").is_dir()


def test_volumes_lie_at_their_mount_paths(resolver: Resolver, tmp_path: Path) -> None:
    tmp_path.joinpath("tree").mkdir()
    tmp_path.joinpath("tree/a").touch()
    uri = f"file://{tmp_path}/tree"
    resolver.mount(
        [
            reference(uri, is_dir=True, mount_path="/data"),
            reference(f"{uri}/a", mount_path="/one"),
            reference(uri, is_dir=True, mount_path="/fused", fuse=True),
            reference(f"{uri}/a", mount_path="/fused-file", fuse=True),
        ]
    )
    mounts = tmp_path / "mounts"
    assert mounts.joinpath("data/a").is_file()
    assert mounts.joinpath("one").is_file()
    assert mounts.joinpath("fused").stat().st_mode & 0o777 == 0o555
    assert mounts.joinpath("fused/a").stat().st_mode & 0o777 == 0o444
    assert mounts.joinpath("fused-file").stat().st_mode & 0o777 == 0o444
    mounts.joinpath("fused").chmod(0o755)


def test_what_the_backend_mounted_is_not_downloaded(tmp_path: Path, journal: Journal) -> None:
    resolver = Resolver(DataPlaces(directory=tmp_path / "data"), frozenset({"r"}), journal)
    fused = reference("gs://bucket/x", is_dir=True, mount_path="/gcs/x", fuse=True)
    resolver.mount([fused])
    assert resolver.resolve([fused], {}).args == ("/gcs/x",)


@pytest.mark.parametrize("path", ["data", "/a/../../b"])
def test_a_mount_path_that_is_not_absolute_or_climbs_is_refused(resolver: Resolver, path: str) -> None:
    with pytest.raises(ValueError, match="must be absolute and must not climb"):
        resolver.mount([reference("file:///x", mount_path=path)])


@pytest.mark.parametrize("volume", [3, {"uri": "x"}, reference("file:///x")])
def test_a_volume_without_a_mount_path_is_refused(resolver: Resolver, volume: Any) -> None:
    with pytest.raises(ValueError, match="no reference with a mount path"):
        resolver.mount([volume])


def test_a_record_of_termination_tells_the_phase(tmp_path: Path, journal: Journal) -> None:
    report = Report(Destination(f"file://{tmp_path}/r.pkl", tmp_path), form="pickle", host_index=2, log=journal)
    names = FileNames(package_root="", workspace=tmp_path)
    report.write(Outcome(error=RuntimeError("stopped")), "data resolve", names, terminated=True)
    record = pickle.loads(tmp_path.joinpath("r.pkl").read_bytes())
    assert (record["terminated"], record["phase"], record["host_index"]) == (True, "data resolve", 2)
