"""Whole runs in this process, so that every branch of every phase is seen."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kinetic_runner import stages
from kinetic_runner.__main__ import main
from tests.system.runner.artifacts import Bench
from tests.unit.kinetic_runner.inprocess import Ended, record_of, reference, run_here
from tests.unit.kinetic_runner.journal import Journal

pytestmark = pytest.mark.usefixtures("own_process")


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


def test_without_uv_the_images_own_pip_installs(
    bench: Bench, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "site/pip"
    installed.mkdir(parents=True)
    installed.joinpath("__init__.py").touch()
    installed.joinpath("__main__.py").write_text("import sys\nprint('called with', *sys.argv[1:], file=sys.stderr)\n")
    monkeypatch.syspath_prepend(installed.parent)
    monkeypatch.delitem(sys.modules, "pip", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(installed.parent))
    monkeypatch.setenv("PATH", str(tmp_path))
    bench.folder.joinpath("requirements.txt").write_text("numpy\n")
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal, "--requirements", bench.uri("requirements.txt")) == 0
    assert "called with install --disable-pip-version-check --no-input -r " in journal.text_of_all


def test_other_versions_are_told_once(bench: Bench, journal: Journal) -> None:
    bench.define("def f():\n    return 1")
    bench.payload = {"client_fingerprint": {"cloudpickle": "0.1.0"}, **bench.payload}
    assert run_here(bench, journal) == 0
    assert journal.text_of_all.count("client cloudpickle 0.1.0") == 1


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
    bench.payload |= {"client_fingerprint": {"cloudpickle": "0.1.0"}, "data_ref_ids": ["r1"]}
    assert run_here(bench, journal) == 0
    assert record_of(bench)["result"] == "list"
    assert any("client cloudpickle 0.1.0" in warning for warning in journal.warnings)
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


@pytest.mark.parametrize("index", ["0", "1"])
def test_another_attempt_takes_back_what_the_one_before_recorded(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch, index: str
) -> None:
    monkeypatch.setenv("TPU_WORKER_ID", index)
    name = "result-worker-1.pkl" if index == "1" else "result.pkl"
    bench.define(f"import pathlib\ndef f(): return pathlib.Path({str(bench.folder)!r}, {name!r}).exists()\n")
    (bench.folder / name).write_bytes(b"of an earlier attempt")
    monkeypatch.setenv("KINETIC_ATTEMPT", "2")
    assert run_here(bench, journal) == 0
    if index == "0":
        assert record_of(bench)["result"] is False
    else:
        assert not (bench.folder / name).exists()


def test_a_bad_host_index_is_told(bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_WORKER_ID", "x")
    bench.define("def f():\n    return 1")
    assert run_here(bench, journal) == 0
    assert any("no host index" in warning for warning in journal.warnings)


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


def test_without_a_private_directory_record_and_log_say_why(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.define("def f():\n    return 1")
    monkeypatch.setenv("TMPDIR", str(bench.folder / "gone"))
    assert run_here(bench, journal) == 1
    assert "FileNotFoundError" in journal.text_of_all
    record = bench.read("result.pkl")
    assert record is not None
    assert (record["success"], record["phase"]) == (False, "artifact download")
    assert isinstance(record["exception"], FileNotFoundError)
    assert run_here(bench, journal, "--result", "nosuch://x/result.pkl") == 1
    assert "nosuch" in journal.text_of_all


def test_a_job_that_puts_nothing_into_a_private_directory_needs_none(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.define("def f():\n    return 1")
    bench.payload["has_data_refs"] = False
    monkeypatch.setenv("TMPDIR", str(bench.folder / "gone"))
    assert run_here(bench, journal, "--workspace", str(bench.folder / "work")) == 0
    assert record_of(bench)["result"] == 1
    assert journal.warnings == []


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
