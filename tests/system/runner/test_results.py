"""What comes home, what cannot, and what happens around the end of a run."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.system.runner.artifacts import Bench

UNPICKLABLE = """\
import threading
class Locked(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()
"""


DEMANDING = """\
class Demanding(Exception):
    def __init__(self, code, detail):
        super().__init__(f'{code}: {detail}')
"""


CHANGING = """\
class Changing(Exception):
    def __reduce__(self):
        return (ValueError, ('other',))
"""


MUTE = """\
class Mute(Exception):
    def __str__(self):
        raise RuntimeError('no text')
    def __reduce__(self):
        raise RuntimeError('no pickle')
"""


EXITING = """\
class Exiting(Exception):
    def __reduce__(self):
        raise SystemExit(3)
"""


@pytest.mark.parametrize(
    ("source", "call", "message"),
    [
        (UNPICKLABLE, "Locked('held')", "Locked: held"),
        (DEMANDING, "Demanding(4, 'no')", "Demanding: 4: no"),
        (CHANGING, "Changing('this')", "Changing: this"),
        (EXITING, "Exiting('this')", "Exiting: this"),
        (MUTE, "Mute()", "Mute: <Mute: its text raised RuntimeError>"),
    ],
)
def test_an_exception_that_cannot_travel_keeps_type_message_and_traceback(
    bench: Bench, source: str, call: str, message: str
) -> None:
    bench.define(f"{source}def f():\n    raise {call}")
    failure = bench.run().failure
    exception = failure["exception"]
    assert type(exception) is RuntimeError
    assert str(exception) == message
    assert vars(exception)["remote_type"] == f"__main__.{call.partition('(')[0]}"
    assert vars(exception)["remote_traceback"] == failure["traceback"]
    assert f"raise {call}" in failure["traceback"]
    assert failure["phase"] == "execute"


def test_an_exception_of_the_scripts_own_comes_home_as_itself(bench: Bench) -> None:
    bench.define(
        "def f():\n"
        "    class Own(ValueError):\n        code = 7\n"
        "    error = Own('mine')\n    error.detail = [1]\n    error.add_note('a note')\n    raise error\n"
    )
    exception = bench.run().failure["exception"]
    assert type(exception).__name__ == "Own"
    assert isinstance(exception, ValueError)
    assert (exception.code, exception.detail, exception.__notes__) == (7, [1], ["a note"])  # type: ignore[attr-defined]


def test_causes_are_told_in_the_traceback(bench: Bench) -> None:
    bench.define(
        "def f():\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n        raise KeyError('x') from e"
    )
    failure = bench.run().failure
    assert "ZeroDivisionError" in failure["traceback"]
    assert "direct cause" in failure["traceback"]


@pytest.mark.parametrize("value", ["threading.Lock()", "open(__file__, 'a')", "(lambda: (yield))().gi_frame"])
def test_a_result_that_cannot_be_pickled_is_a_failure_with_its_text(bench: Bench, value: str) -> None:
    bench.define(f"import threading\ndef f():\n    return {{'v': {value}}}")
    ran = bench.run()
    assert ran.code == 1
    assert ran.failure["serialization_failed"] is True
    assert ran.failure["result_repr"].startswith("{'v': <")
    assert ran.failure["phase"] == "result serialization"
    assert "pickle" in str(ran.failure["exception"])


def test_a_result_that_pickles_but_cannot_be_rebuilt_is_a_failure(bench: Bench) -> None:
    bench.define(
        "class Odd:\n    def __reduce__(self):\n        return (int, ('no number',))\ndef f():\n    return Odd()"
    )
    failure = bench.run().failure
    assert failure["serialization_failed"] is True
    assert "no number" in str(failure["exception"])


def test_the_text_of_a_result_is_at_most_20000_characters(bench: Bench) -> None:
    bench.define("import threading\ndef f():\n    return ['x' * 30_000, threading.Lock()]")
    assert len(bench.run().failure["result_repr"]) == 20_000


def test_trying_a_result_leaves_the_classes_of_the_process_as_they_are(bench: Bench) -> None:
    source = (
        "class Config:\n    seen = []\n"
        "def f():\n"
        "    import atexit\n"
        "    own = Config.seen\n"
        "    atexit.register(lambda: print('same list' if Config.seen is own else 'other list'))\n"
        "    return Config()\n"
    )
    bench.define(source)
    ran = bench.run()
    assert type(ran.value).__name__ == "Config"
    assert ran.out == "same list\n"


def test_no_part_file_and_no_private_directory_is_left(bench: Bench) -> None:
    bench.define("def f():\n    return 1")
    bench.run()
    assert sorted(path.name for path in bench.folder.iterdir()) == ["context.zip", "payload.pkl", "result.pkl"]


def test_the_folder_of_the_result_is_made(bench: Bench) -> None:
    bench.define("def f():\n    return 1")
    bench.run("--result", bench.uri("deep/er/result.pkl"))
    record = bench.read("deep/er/result.pkl")
    assert record is not None
    assert record["result"] == 1


def test_a_record_that_cannot_be_stored_leaves_the_traceback_in_the_log(bench: Bench) -> None:
    bench.define("def f():\n    return 1")
    bench.folder.joinpath("file").touch()
    ran = bench.run("--result", bench.uri("file/result.pkl"))
    assert ran.code == 1
    assert "Traceback" in ran.err
    assert "file/result.pkl" in ran.err or "/file" in ran.err


def test_a_store_without_a_driver_leaves_the_reason_in_the_log(bench: Bench) -> None:
    bench.define("def f():\n    return 1")
    ran = bench.run("--result", "sftp://host/result.pkl")
    assert ran.code == 1
    assert "sftp:// needs a driver that this image lacks" in ran.err


def wait_for(path: Path) -> None:
    """Wait until the function says that it runs."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, "the function did not start"
        time.sleep(0.01)


def sleeping(bench: Bench, more: str = "") -> Path:
    """Define a function that says that it runs, and then sleeps."""
    started = bench.folder / "started"
    source = f"import os, time\ndef f(path):\n    {more or 'pass'}\n    open(path, 'w').close()\n    time.sleep(60)\n"
    bench.define(source, "f", str(started))
    return started


def test_sigterm_writes_a_record_with_the_phase_and_exits_143(bench: Bench) -> None:
    started = sleeping(bench)
    process = bench.start()
    wait_for(started)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    ran = bench.finish(process)
    assert ran.code == 143
    assert ran.failure["terminated"] is True
    assert ran.failure["phase"] == "execute"


def test_sigterm_removes_the_working_directory_link(bench: Bench, tmp_path: Path) -> None:
    started = sleeping(bench)
    bench.link = True
    bench.payload["working_dir"] = str(tmp_path / "client")
    process = bench.start()
    wait_for(started)
    assert (tmp_path / "client").is_symlink()
    process.send_signal(signal.SIGTERM)
    bench.finish(process)
    assert not os.path.lexists(tmp_path / "client")


def test_sigterm_to_a_fork_of_the_function_writes_no_record(bench: Bench) -> None:
    source = (
        "import os, signal, time\n"
        "def f():\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        time.sleep(60)\n"
        "        os._exit(9)\n"
        "    os.kill(pid, signal.SIGTERM)\n"
        "    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
    )
    bench.define(source)
    assert bench.run().value == -signal.SIGTERM


def test_sigterm_while_the_result_is_written_does_not_lose_it(bench: Bench) -> None:
    source = (
        "import os, signal\n"
        "class Slow:\n"
        "    def __reduce__(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        return (str, ('whole',))\n"
        "def f():\n    return Slow()\n"
    )
    bench.define(source)
    assert bench.run().value == "whole"


def test_a_handler_of_the_functions_own_takes_the_place_of_the_runners(bench: Bench) -> None:
    source = (
        "import os, signal\n"
        "def f():\n"
        "    seen = []\n"
        "    signal.signal(signal.SIGTERM, lambda *_: seen.append('saved'))\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return seen\n"
    )
    bench.define(source)
    assert bench.run().value == ["saved"]


def test_threads_left_behind_are_named_and_not_waited_for(bench: Bench) -> None:
    source = (
        "import atexit, threading, time\n"
        "def f():\n"
        "    atexit.register(lambda: print('flushed'))\n"
        "    threading.Thread(target=time.sleep, args=(60,), name='prefetch').start()\n"
        "    return 1\n"
    )
    bench.define(source)
    ran = bench.run()
    assert ran.value == 1
    assert "'prefetch' was left running" in ran.err
    assert ran.out == "flushed\n"


def test_child_processes_left_behind_are_named_and_not_waited_for(bench: Bench) -> None:
    source = (
        "def f():\n"
        "    import multiprocessing as mp, time\n"
        "    child = mp.get_context('fork').Process(target=time.sleep, args=(60,), name='loader')\n"
        "    child.start()\n"
        "    return child.pid\n"
    )
    bench.define(source)
    process = bench.start()
    while process.poll() is None:
        time.sleep(0.01)
    record = bench.read("result.pkl")
    assert record is not None
    os.kill(record["result"], signal.SIGKILL)
    ran = bench.finish(process)
    assert ran.code == 0
    assert "child process loader" in ran.err


def test_an_exit_hook_runs_when_nothing_is_left_behind(bench: Bench) -> None:
    bench.define("import atexit\ndef f():\n    atexit.register(lambda: print('bye'))")
    assert bench.run().out == "bye\n"


def test_all_output_before_a_crash_is_there(bench: Bench) -> None:
    source = (
        "import os, subprocess, sys\n"
        "def f():\n"
        "    print('x', end='')\n"
        "    print('y', file=sys.stderr, end='')\n"
        "    sys.stdout.buffer.write(b'\\xff\\n')\n"
        "    print('long ' * 200_000)\n"
        "    subprocess.run([sys.executable, '-c', 'import os; print(\"child\"); os._exit(0)'])\n"
        "    os._exit(0)\n"
    )
    bench.define(source)
    ran = bench.run()
    assert ran.out.startswith("x�\nlong ")
    assert ran.out.endswith("long \nchild\n")
    assert ran.err.endswith("y")
    assert ran.record is None


def test_a_closed_stderr_does_not_lose_the_result(bench: Bench) -> None:
    bench.define("import sys, os\ndef f():\n    os.close(2)\n    sys.stderr = None\n    return 1")
    assert bench.run().value == 1


def test_a_crash_of_the_interpreter_is_in_the_log(bench: Bench) -> None:
    bench.define("import ctypes\ndef f():\n    ctypes.string_at(0)")
    ran = bench.run()
    assert ran.code == -signal.SIGSEGV
    assert "Segmentation fault" in ran.err


@pytest.mark.parametrize("variable", ["TPU_WORKER_ID", "LWS_WORKER_INDEX", "JOB_COMPLETION_INDEX"])
def test_another_host_than_the_first_writes_its_failure_beside_the_result(bench: Bench, variable: str) -> None:
    bench.define("import os\ndef f():\n    raise ValueError(os.environ['KINETIC_HOST_INDEX'])")
    ran = bench.run(env={variable: "2", "KINETIC_NUM_HOSTS": "3"})
    assert ran.code == 1
    assert ran.record is None
    record = bench.read("result-worker-2.pkl")
    assert record is not None
    assert record["host_index"] == 2
    assert str(record["exception"]) == "2"


def test_another_host_than_the_first_discards_its_value_unserialised(bench: Bench) -> None:
    bench.define("import threading\ndef f():\n    return threading.Lock()")
    ran = bench.run(env={"TPU_WORKER_ID": "1"})
    assert ran.code == 0
    assert not list(bench.folder.glob("result*"))


def test_a_bad_host_index_is_ignored_with_a_warning(bench: Bench) -> None:
    bench.define("import os\ndef f():\n    return os.environ['KINETIC_HOST_INDEX']")
    ran = bench.run(env={"TPU_WORKER_ID": "first", "LWS_WORKER_INDEX": "-1", "JOB_COMPLETION_INDEX": "0"})
    assert ran.value == "0"
    assert "TPU_WORKER_ID='first' is no host index" in ran.err
    assert "LWS_WORKER_INDEX='-1' is no host index" in ran.err
