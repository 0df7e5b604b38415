"""Every way in which a function can end, and what the runner makes of it."""

import errno
import signal
import sys
from pathlib import Path

import pytest

from tests.system.runner.artifacts import Bench

HEAD = """\
import asyncio, os, signal, sys, threading, types

class Odd(Exception):
    def __init__(self, **more):
        super().__init__("odd")
        self.__dict__.update(more)

class Speechless(Exception):
    def __str__(self):
        raise SystemExit(5)
    __repr__ = __str__

class Deep(Exception):
    def __reduce__(self):
        return (Deep, (Deep(),))

class Untouchable(Exception):
    def __getattribute__(self, name):
        raise RuntimeError("hands off")

class Noteless(FileNotFoundError):
    __notes__ = "none"

class Hostile:
    def __repr__(self):
        raise KeyboardInterrupt

def trace():
    try:
        1 / 0
    except ZeroDivisionError as error:
        return error.__traceback__

def generate():
    yield 1

"""


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("raise Odd(lock=threading.Lock())", "Odd"),
        ("raise Odd(trace=trace())", "Odd"),
        ("raise Odd(generator=generate())", "Odd"),
        ("raise Odd(frame=sys._getframe())", "Odd"),
        ("raise type('Local', (Exception,), {'__reduce__': lambda self: 1 / 0})('local')", "Local"),
        ("raise Speechless", "Speechless"),
        ("raise Deep", "Deep"),
        ("raise Untouchable", "Untouchable"),
        ("raise ExceptionGroup('many', [Odd(lock=threading.Lock()), KeyError('k')])", "ExceptionGroup"),
        ("raise BaseExceptionGroup('many', [KeyboardInterrupt('stop')])", "BaseExceptionGroup"),
        ("raise GeneratorExit('gone')", "GeneratorExit"),
        ("raise asyncio.CancelledError('late')", "CancelledError"),
        ("sys.exit(Hostile())", "SystemExit"),
    ],
)
def test_an_exception_that_cannot_come_home_is_a_record_that_names_its_type(bench: Bench, body: str, name: str) -> None:
    bench.define(f"{HEAD}def f():\n    {body}\n")
    ran = bench.run()
    assert ran.code == 1
    assert ran.failure["phase"] == "execute"
    exception = ran.failure["exception"]
    assert type(exception) is RuntimeError
    assert vars(exception)["remote_type"].endswith(f".{name}")
    assert vars(exception)["remote_traceback"] == ran.failure["traceback"]
    assert name in ran.failure["traceback"]
    assert name in ran.err


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("raise StopIteration(3)", StopIteration, "3"),
        ("raise MemoryError('much')", MemoryError, "much"),
        ("f()", RecursionError, "recursion"),
        ("raise ExceptionGroup('many', [KeyError('k'), OSError(2, 'none')])", ExceptionGroup, "many"),
        ("raise OSError(28, 'No space left on device', 'file')", OSError, "file"),
        ("return (lambda: (yield))()", TypeError, "returned a generator"),
    ],
)
def test_an_exception_that_can_come_home_comes_as_itself(
    bench: Bench, body: str, kind: type[Exception], text: str
) -> None:
    bench.define(f"def f():\n    {body}\n")
    ran = bench.run()
    assert ran.code == 1
    assert isinstance(ran.failure["exception"], kind)
    assert text in str(ran.failure["exception"])


def test_causes_contexts_groups_and_notes_are_told_in_the_traceback(bench: Bench) -> None:
    bench.define(
        f"{HEAD}def f():\n"
        "    try:\n"
        "        try:\n            {}['inner']\n"
        "        except KeyError as inner:\n            raise ValueError('middle') from inner\n"
        "    except ValueError as middle:\n"
        "        middle.add_note('a note on the middle')\n"
        "        raise ExceptionGroup('outer', [Odd(lock=threading.Lock()), TypeError('second')])\n"
    )
    told = bench.run().failure["traceback"]
    for text in (
        "KeyError: 'inner'",
        "direct cause",
        "ValueError: middle",
        "a note on the middle",
        "another exception",
    ):
        assert text in told
    for text in ("ExceptionGroup: outer", "Odd: odd", "TypeError: second"):
        assert text in told


def test_an_exception_that_takes_no_note_is_not_replaced_by_the_attempt(bench: Bench) -> None:
    bench.plan["excluded"] = {"data": 1}
    bench.define(f"{HEAD}def f():\n    raise Noteless(2, 'none', 'a.csv')\n")
    assert type(bench.run().failure["exception"]).__name__ == "Noteless"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("os._exit(0)", 0),
        ("os._exit(7)", 7),
        ("os.abort()", -signal.SIGABRT),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("threading.Thread(target=os._exit, args=(4,)).start() or threading.Event().wait()", 4),
    ],
)
def test_a_process_that_ends_at_once_leaves_no_record_and_its_own_code(bench: Bench, body: str, code: int) -> None:
    bench.define(f"import os, signal, threading\ndef f():\n    {body}\n")
    ran = bench.run()
    assert (ran.code, ran.record) == (code, None)


@pytest.mark.parametrize(
    "vandalism",
    [
        "os.environ.clear()",
        "sys.path.clear(); sys.modules.pop('json', None); sys.modules['pickle'] = None",
        "import builtins; builtins.open = None; builtins.print = None",
        "os.umask(0o777)",
        "here = os.getcwd(); os.chdir('/'); shutil.rmtree(here)",
        "sys.stdout.close(); sys.stderr.close()",
        "sys.stdout = sys.stderr = None",
        "os.close(1); os.close(2)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))",
        "sys.setrecursionlimit(60)",
        "shutil.rmtree(os.environ['TMPDIR'] + '/results'); os.environ['TMPDIR'] = '/nowhere'",
        "threading.settrace(lambda *_: 1 / 0); sys.setprofile(None)",
        "sys.exc_info = sys.excepthook = None",
        "gc.disable(); gc.set_threshold(0)",
    ],
)
def test_what_a_function_does_to_its_process_does_not_lose_the_result(bench: Bench, vandalism: str) -> None:
    bench.folder.joinpath("results").mkdir()
    bench.define(f"import gc, os, shutil, signal, sys, threading\ndef f():\n    {vandalism}\n    return [1, 'two']\n")
    ran = bench.run("--result", bench.uri("results/result.pkl"))
    assert ran.code == 0, ran.err
    record = bench.read("results/result.pkl")
    assert record is not None
    assert record["result"] == [1, "two"]


def test_a_store_that_is_full_at_result_time_leaves_the_reason_in_the_log_and_no_half_record(bench: Bench) -> None:
    bench.define(
        "import resource\n"
        "def f():\n    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n    return 'x' * 500_000\n"
    )
    ran = bench.run()
    assert ran.code == 1
    assert "File too large" in ran.err
    assert [path.name for path in bench.folder.iterdir() if "result" in path.name and path.name != "result.pkl"] == []
    assert ran.failure["phase"] == "result upload"
    error = ran.failure["exception"]
    assert isinstance(error, OSError)
    assert (error.errno, Path(error.filename).parent) == (errno.EFBIG, bench.folder)
    assert "result_repr" not in ran.failure


def test_a_failure_while_pickling_that_only_looks_like_one_of_the_disk_is_the_values(bench: Bench) -> None:
    bench.define(
        "class Full:\n    def __reduce__(self):\n        raise OSError(28, 'No space ' + 'x' * 1000)\n"
        "def f():\n    return Full()\n"
    )
    ran = bench.run()
    assert ran.failure["phase"] == "result serialization"
    (warning,) = (line for line in ran.err.splitlines() if "cannot travel" in line)
    assert len(warning) < 500


@pytest.mark.parametrize(("level", "told"), [("", 0), ("WARNING", 0), ("info", 1), ("DEBUG", 1)])
def test_the_log_tells_of_stages_only_where_that_is_asked_for(bench: Bench, level: str, told: int) -> None:
    bench.define("import sys\ndef f():\n    print('mine', file=sys.stderr)")
    ran = bench.run(env={"KINETIC_LOG_LEVEL": level})
    assert ran.err.count("kinetic: artifact download") == ran.err.count("context extracted") == told
    assert ran.code == 0
    assert told or ran.err == "mine\n"


def test_a_failure_is_told_in_the_log_whatever_its_level_with_its_traceback_once(bench: Bench) -> None:
    bench.define("def f():\n    1 / 0")
    ran = bench.run(env={"KINETIC_LOG_LEVEL": ""})
    assert ran.err.count("Traceback") == 1
    assert ran.err.endswith("kinetic: failed in phase 'execute'\n")


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-", "> /dev/full 2> /dev/full"])
def test_standard_streams_that_are_closed_or_full_from_the_start_lose_no_result(bench: Bench, closed: str) -> None:
    bench.define(
        "import os, subprocess, sys\n"
        "def f():\n"
        "    with open('own', 'w') as stream:\n"
        "        assert stream.fileno() > 2\n"
        "        subprocess.run([sys.executable, '-c', 'import os; os.write(1, b\"x\"); os.write(2, b\"x\")'])\n"
        "    return os.stat('own').st_size\n"
    )
    python = bench.folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@" {closed}\n')
    python.chmod(0o755)
    ran = bench.run(python=str(python))
    assert ran.record is not None
    assert (ran.code, ran.record["result"]) == (0, 0)


def test_a_result_whose_pickling_ends_the_process_softly_is_a_failure(bench: Bench) -> None:
    bench.define(
        "import sys\nclass Exits:\n    def __reduce__(self):\n        sys.exit(0)\ndef f():\n    return Exits()\n"
    )
    ran = bench.run()
    assert ran.code == 1
    assert ran.failure["serialization_failed"] is True


def test_a_function_runs_once_also_when_its_result_cannot_travel(bench: Bench) -> None:
    bench.define("import threading\ndef f():\n    print('called')\n    return threading.Lock()")
    assert bench.run().out == "called\n"


@pytest.mark.parametrize("artifact", ["context.zip", "payload.pkl"])
@pytest.mark.parametrize("size", [0, 1, 40, -1])
def test_an_artifact_that_is_cut_off_is_a_failure_in_its_phase(bench: Bench, artifact: str, size: int) -> None:
    bench.define("def f():\n    return 1")
    arguments = bench.write()
    path = bench.folder / artifact
    path.write_bytes(path.read_bytes()[:size])
    bench.write = lambda: arguments  # type: ignore[method-assign]
    failure = bench.run().failure
    assert failure["phase"] == "artifact verification"
    flags = [part for part in arguments if "sha256" not in part and len(part) != 64]
    bench.write = lambda: flags  # type: ignore[method-assign]
    failure = bench.run().failure
    assert failure["phase"] == ("context extract" if artifact == "context.zip" else "payload unpickle")


def test_a_thread_that_never_ends_does_not_keep_the_pod_alive_after_a_failure(bench: Bench) -> None:
    bench.define(
        "import threading\n"
        "def f():\n"
        "    threading.Thread(target=threading.Event().wait, name='stuck').start()\n"
        "    raise ValueError('mine')\n"
    )
    ran = bench.run()
    assert ran.code == 1
    assert "'stuck' was left running" in ran.err
    assert isinstance(ran.failure["exception"], ValueError)


def test_a_json_record_says_how_the_function_left(bench: Bench) -> None:
    bench.json = True
    bench.files["job.py"] = "import sys\ndef f():\n    sys.exit('no quota')\n"
    bench.payload = {"func": {"module": "job", "qualname": "f", "file": None}, "args": [], "kwargs": {}}
    exception = {"type": "SystemExit", "module": "builtins", "message": "function called sys.exit('no quota')"}
    assert bench.run().failure["exception"] == exception
