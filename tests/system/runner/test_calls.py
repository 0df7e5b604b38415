"""A call, from artifacts to record, in a real process."""

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.system.runner.artifacts import CLIENT_ROOT, ROOT, Bench

BLOCKER = ROOT / "tests/architecture/blocker.py"


def test_the_value_comes_home(bench: Bench) -> None:
    bench.define("def f(x, *, y):\n    return {'sum': x + y}", "f", 1, y=2)
    ran = bench.run()
    assert ran.value == {"sum": 3}
    assert ran.record == {
        "success": True,
        "result": {"sum": 3},
        "exception": None,
        "traceback": None,
        "phase": "execute",
        "host_index": 0,
    }


def test_the_functions_own_exception_comes_home_with_the_clients_file_names(bench: Bench) -> None:
    bench.files["helper.py"] = "def check(x):\n    raise ValueError(f'bad {x}')\n"
    bench.define("def f(x):\n    import helper\n    helper.check(x)\n", "f", 3)
    ran = bench.run()
    assert ran.code == 1
    assert type(ran.failure["exception"]) is ValueError
    assert str(ran.failure["exception"]) == "bad 3"
    assert ran.failure["phase"] == "execute"
    assert f'File "{CLIENT_ROOT}/train.py", line 3, in f' in ran.failure["traceback"]
    assert f'File "{CLIENT_ROOT}/helper.py", line 2, in check' in ran.failure["traceback"]
    assert "raise ValueError(f'bad {x}')" in ran.failure["traceback"]
    assert "kinetic_runner" not in ran.failure["traceback"]


def test_what_parses_a_command_line_in_the_job_finds_an_empty_one(bench: Bench) -> None:
    bench.files["flags.py"] = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--rate', default='0.1')\nFLAGS = parser.parse_args()\n"
    )
    bench.define("def f():\n    import sys\n    import flags\n    return flags.FLAGS.rate, sys.argv[1:]")
    assert bench.run().value == ("0.1", [])


def test_nothing_but_the_standard_library_and_cloudpickle_is_needed(bench: Bench) -> None:
    bench.define("def f():\n    import sys\n    return sorted(sys.modules)")
    command = [sys.executable, str(BLOCKER), "cloudpickle", "run", "kinetic_runner", *bench.write()]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
    assert ran.returncode == 0, ran.stderr
    record = bench.read("result.pkl")
    assert record is not None
    loaded = set(record["result"])
    assert loaded.isdisjoint({"fsspec", "attrs", "attr", "pluggy", "structlog", "kinetic"})


def test_a_cold_start_loads_nothing_that_few_jobs_need(bench: Bench) -> None:
    bench.define("def f():\n    import sys\n    return sorted(sys.modules)")
    bench.payload["has_data_refs"] = False
    loaded = set(bench.run().value)
    heavy = {"argparse", "asyncio", "multiprocessing", "shutil", "subprocess", "tempfile", "zipfile"}
    assert loaded.isdisjoint({*heavy, "kinetic_core.walk"})


def test_the_environment_is_the_captured_one_over_the_pods(bench: Bench) -> None:
    bench.define(
        "import os\ndef f():\n"
        "    shown = {k: v for k, v in os.environ.items() if k[:2] in ('KI', 'MY', 'OD')}\n"
        "    return {k: v for k, v in shown.items() if k != 'KINETIC_LOG_LEVEL'}"
    )
    bench.payload["env_vars"] = {
        "MY_VAR": "client's",
        "ODD": "line\nbreak \udcff",
        "KINETIC_OUTPUT_DIR": "file:///out",
        "KINETIC_JOB_ID": "job-stale",
        "KINETIC_HOST_INDEX": "7",
        "BAD=NAME": "x",
    }
    ran = bench.run(env={"MY_VAR": "pod's", "MY_OTHER": "stays", "KINETIC_JOB_ID": "job-0a1b2c3d"})
    assert ran.value == {
        "MY_VAR": "client's",
        "MY_OTHER": "stays",
        "ODD": "line\nbreak \udcff",
        "KINETIC_OUTPUT_DIR": "file:///out",
        "KINETIC_JOB_ID": "job-0a1b2c3d",
        "KINETIC_HOST_INDEX": "0",
        "KINETIC_NUM_HOSTS": "1",
    }
    assert "'BAD=NAME' cannot be set" in ran.err


def test_captured_variables_are_set_before_the_functions_modules_are_imported(bench: Bench) -> None:
    bench.files["early.py"] = "import os\nSEEN = os.environ.get('CHOICE')\n"
    bench.define("def f():\n    import early\n    return early.SEEN")
    first = {"client_fingerprint": {"python": platform.python_version()}, "env_vars": {"CHOICE": "captured"}}
    bench.payload = first | bench.payload | {"args": (), "module": ImportsEarly()}
    assert bench.run(env={"CHOICE": "pod's"}).value == "captured"


class ImportsEarly:
    """Imports a module of the project while it is loaded, as a function's globals do."""

    def __reduce__(self) -> Any:
        import importlib

        return importlib.import_module, ("early",)


def test_coroutine_functions_are_awaited(bench: Bench) -> None:
    bench.define("import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x", "f", 5)
    assert bench.run().value == 5


@pytest.mark.parametrize("source", ["def f():\n    yield 1", "async def f():\n    yield 1"])
def test_a_generator_is_no_result_and_the_error_says_so(bench: Bench, source: str) -> None:
    bench.define(source)
    exception = bench.run().failure["exception"]
    assert type(exception) is TypeError
    assert "generator" in str(exception)


@pytest.mark.parametrize("call", ["sys.exit()", "sys.exit(0)", "exit(0)"])
def test_an_exit_without_a_code_is_a_success_with_none(bench: Bench, call: str) -> None:
    bench.define(f"import sys\ndef f():\n    {call}")
    assert bench.run().value is None


@pytest.mark.parametrize("code", ["3", "'no quota'"])
def test_another_exit_code_is_a_failure_that_tells_it(bench: Bench, code: str) -> None:
    bench.define(f"import sys\ndef f():\n    sys.exit({code})")
    ran = bench.run()
    assert ran.code == 1
    assert str(ran.failure["exception"]) == f"function called sys.exit({code})"


def test_a_keyboard_interrupt_is_a_failure_that_names_its_type(bench: Bench) -> None:
    bench.define("def f():\n    raise KeyboardInterrupt('stop')")
    exception = bench.run().failure["exception"]
    assert isinstance(exception, Exception)
    assert "KeyboardInterrupt: stop" in str(exception)


def test_payloads_of_the_first_runner_are_understood(bench: Bench) -> None:
    bench.plan = None
    bench.define("def f(x):\n    import os\n    return x, os.path.basename(os.getcwd())", "f", 1)
    ran = bench.run()
    assert ran.value == (1, "workspace")
    assert "has no packaging plan" in ran.err


def test_a_json_call_runs_without_any_pickle(bench: Bench) -> None:
    bench.json = True
    bench.files["pkg/__init__.py"] = ""
    bench.files["pkg/jobs.py"] = (
        "class Jobs:\n    @staticmethod\n    def f(a, *, b):\n        return {'a': a, 'b': b, 'n': (1, None)}\n"
    )
    bench.payload = {
        "func": {"module": "pkg.jobs", "qualname": "Jobs.f", "file": None},
        "args": [[1]],
        "kwargs": {"b": "é"},
    }
    ran = bench.run()
    assert ran.value == {"a": [1], "b": "é", "n": [1, None]}


def test_a_main_script_is_found_by_its_file_and_its_main_block_does_not_run(bench: Bench) -> None:
    bench.json = True
    bench.files["job.py"] = "def f():\n    return __name__\nif __name__ == '__main__':\n    raise SystemExit('ran')\n"
    bench.payload = {"func": {"module": "__main__", "qualname": "f", "file": "job.py"}, "args": [], "kwargs": {}}
    assert bench.run().value != "__main__"


def test_a_json_exception_travels_as_type_message_and_traceback(bench: Bench) -> None:
    bench.json = True
    bench.files["job.py"] = "class Odd(Exception):\n    pass\ndef f():\n    raise Odd('no')\n"
    bench.payload = {"func": {"module": "job", "qualname": "f", "file": None}, "args": [], "kwargs": {}}
    failure = bench.run().failure
    assert failure["exception"] == {"type": "Odd", "module": "job", "message": "no"}
    assert f'File "{CLIENT_ROOT}/job.py", line 4, in f' in failure["traceback"]


def test_a_result_that_json_cannot_hold_is_a_failure_with_its_text(bench: Bench) -> None:
    bench.json = True
    bench.files["job.py"] = "def f():\n    return {'a': [{1}]}\n"
    bench.payload = {"func": {"module": "job", "qualname": "f", "file": None}, "args": [], "kwargs": {}}
    failure = bench.run().failure
    assert failure["serialization_failed"] is True
    assert failure["result_repr"] == "{'a': [{1}]}"
    assert failure["phase"] == "result serialization"
    assert "the result['a'][0] is a set" in failure["exception"]["message"]


@pytest.mark.parametrize(
    ("flag", "env", "allowed"),
    [
        (["--allowed-serialization", "json"], {}, "['json']"),
        ([], {"KINETIC_ALLOWED_SERIALIZATION": "json"}, "['json']"),
    ],
)
def test_a_format_that_is_not_allowed_is_refused_before_the_payload_is_opened(
    bench: Bench, flag: list[str], env: dict[str, str], allowed: str, tmp_path: Path
) -> None:
    trap = tmp_path / "opened"
    bench.payload = {"func": print, "args": (Touch(str(trap)),), "kwargs": {}}
    failure = bench.run(*flag, env=env).failure
    assert str(failure["exception"]) == f"Serialization format 'pickle' not allowed. Allowed formats: {allowed}"
    assert not trap.exists()


class Touch:
    """Makes a file when it is loaded."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        import os

        return os.mkdir, (self.path,)


def test_a_payload_whose_hash_differs_is_refused_unopened(bench: Bench, tmp_path: Path) -> None:
    trap = tmp_path / "opened"
    bench.payload = {"func": print, "args": (Touch(str(trap)),), "kwargs": {}}
    failure = bench.run("--payload-sha256", "0" * 64).failure
    assert failure["phase"] == "artifact verification"
    assert "is not what the client sent" in str(failure["exception"])
    assert not trap.exists()


def test_every_artifact_that_is_missing_is_a_failure_with_its_phase(bench: Bench) -> None:
    bench.define("def f():\n    return 1")
    ran = bench.run("--context", bench.uri("gone.zip"))
    assert ran.code == 1
    assert ran.failure["phase"] == "artifact download"
    assert "gone.zip" in str(ran.failure["exception"])


def test_a_missing_argument_exits_2_with_one_line() -> None:
    command = [sys.executable, "-m", "kinetic_runner", "--context", "file:///c"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
    assert ran.returncode == 2
    assert ran.stderr == "kinetic_runner: missing --payload, --result; see --help\n"
    assert ran.stdout == ""


def test_the_record_is_json_text_of_the_contract(bench: Bench) -> None:
    bench.json = True
    bench.files["job.py"] = "def f():\n    return 1\n"
    bench.payload = {"func": {"module": "job", "qualname": "f", "file": None}, "args": [], "kwargs": {}}
    bench.run()
    raw = json.loads(bench.folder.joinpath("result.json").read_text())
    assert set(raw) == {"success", "result", "exception", "traceback", "phase", "host_index"}
