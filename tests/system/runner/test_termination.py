"""SIGTERM, in every phase, once and twice, and to more processes than one."""

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from kinetic_runner.stages import PHASES
from tests.system.runner.artifacts import ROOT, Bench

DURING = """
import os, signal, sys, time
from kinetic_runner import runner
from kinetic_runner.__main__ import main
from kinetic_runner.leftovers import leave
from kinetic_runner.log import Log

wanted = sys.argv.pop(1)

def stop(act):
    def acting(job):
        act(job)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    return acting

runner.PHASES = tuple((name, stop(act) if name == wanted else act) for name, act in runner.PHASES)
leave(main(), Log())
"""


def stopped_during(phase: str, bench: Bench, **environ: str) -> Any:
    """Run the job, and let it be told to stop twice when the phase has done its work."""
    temporary = bench.folder / "temporary"
    temporary.mkdir(exist_ok=True)
    ran = subprocess.run(
        [sys.executable, "-P", "-c", DURING, phase, *bench.write()],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), **environ},
        cwd=bench.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        start_new_session=True,
    )
    assert list(temporary.iterdir()) == []
    assert not list(bench.folder.glob("*.part")) + list(bench.folder.glob(".*.part"))
    return ran


@pytest.mark.parametrize("phase", [name for name, _ in PHASES])
def test_a_stop_in_any_phase_leaves_a_record_with_that_phase_and_nothing_else(bench: Bench, phase: str) -> None:
    bench.define("def f():\n    return 1")
    ran = stopped_during(phase, bench)
    assert ran.returncode == 143, ran.stderr
    record = bench.read("result.pkl")
    assert record is not None
    assert (record["success"], record["terminated"], record["phase"]) == (False, True, phase)
    assert f"SIGTERM) in phase {phase!r}" in str(record["exception"])


def test_a_stop_of_another_host_is_recorded_beside_the_result(bench: Bench) -> None:
    bench.define("def f():\n    return 1")
    ran = stopped_during("execute", bench, TPU_WORKER_ID="2")
    assert ran.returncode == 143
    assert bench.read("result.pkl") is None
    record = bench.read("result-worker-2.pkl")
    assert record is not None
    assert (record["terminated"], record["host_index"]) == (True, 2)


def test_a_json_job_that_is_stopped_leaves_a_json_record(bench: Bench) -> None:
    bench.json = True
    bench.files["job.py"] = "def f():\n    return 1\n"
    bench.payload = {"func": {"module": "job", "qualname": "f", "file": None}, "args": [], "kwargs": {}}
    assert stopped_during("data resolve", bench).returncode == 143
    record = bench.read("result.json")
    assert record is not None
    assert (record["terminated"], record["phase"]) == (True, "data resolve")


def test_a_store_that_fails_when_the_pod_is_stopped_leaves_the_reason_in_the_log(bench: Bench) -> None:
    bench.define(
        "import os\ndef f(folder):\n    os.rmdir(folder)\n    open(folder, 'w').close()",
        "f",
        str(bench.folder / "results"),
    )
    bench.folder.joinpath("results").mkdir()
    write = bench.write
    bench.write = lambda: [*write(), "--result", bench.uri("results/result.pkl")]  # type: ignore[method-assign]
    ran = stopped_during("execute", bench)
    assert ran.returncode == 143
    assert "Traceback" in ran.stderr


UPLOADING = """
import os, signal, sys
from kinetic_runner import delivery
from kinetic_runner.__main__ import main

publish = delivery.Destination._publish

def stopped(self, part):
    os.kill(os.getpid(), signal.SIGTERM)
    publish(self, part)
    os.kill(os.getpid(), signal.SIGTERM)

delivery.Destination._publish = stopped
sys.exit(main())
"""


@pytest.mark.parametrize(("body", "code"), [("return 'whole'", 0), ("raise ValueError('mine')", 1)])
def test_a_stop_while_the_record_is_uploaded_neither_loses_nor_replaces_it(bench: Bench, body: str, code: int) -> None:
    bench.define(f"def f():\n    {body}")
    ran = subprocess.run(
        [sys.executable, "-P", "-c", UPLOADING, *bench.write()],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TMPDIR": str(bench.folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        start_new_session=True,
    )
    assert ran.returncode == code, ran.stderr
    record = bench.read("result.pkl")
    assert record is not None
    assert "terminated" not in record
    assert record["success"] is (code == 0)


def test_two_hosts_of_one_job_that_are_stopped_at_once_do_not_trip_over_each_other(bench: Bench) -> None:
    started = [bench.folder / "0", bench.folder / "1"]
    bench.define(
        "import os, pathlib, time\n"
        "def f(folder):\n"
        "    pathlib.Path(folder, os.environ['KINETIC_HOST_INDEX']).touch()\n"
        "    time.sleep(60)\n",
        "f",
        str(bench.folder),
    )
    hosts = [bench.start(env={"JOB_COMPLETION_INDEX": str(index)}) for index in range(2)]
    while not all(path.exists() for path in started):
        assert [host.poll() for host in hosts] == [None, None]
        time.sleep(0.01)
    for host in hosts:
        host.send_signal(signal.SIGTERM)
    assert [bench.finish(host).code for host in hosts] == [143, 143]
    for index, name in enumerate(("result.pkl", "result-worker-1.pkl")):
        record = bench.read(name)
        assert record is not None
        assert (record["terminated"], record["host_index"]) == (True, index)


FORKING = """
import os, signal, sys, time
from kinetic_runner.termination import Termination

Termination(lambda: None).install()
ends = set()
for _ in range(50):
    pid = os.fork()
    if not pid:
        time.sleep(60)
        os._exit(9)
    os.kill(pid, signal.SIGTERM)
    ends.add(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(ends, signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""


def test_a_stop_that_reaches_a_fork_at_its_birth_ends_it() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FORKING],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        start_new_session=True,
    )
    assert (ran.returncode, ran.stdout) == (0, "{-15} False\n"), ran.stderr


def test_a_child_that_was_started_by_spawn_is_stopped_as_any_process(bench: Bench) -> None:
    bench.define(
        "import signal, subprocess, sys\n"
        "def f():\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "    child.send_signal(signal.SIGTERM)\n"
        "    return child.wait()\n"
    )
    assert bench.run().value == -signal.SIGTERM
