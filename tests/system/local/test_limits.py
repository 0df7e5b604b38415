"""Limits of memory and processor time, and the variables that a job inherits."""

import os
import sys
from pathlib import Path

import pytest

from kinetic.testing.jobs import make_job, result_of
from kinetic_core.model.job import JobStatus
from tests.fakes.scripted_runner import ScriptedPod, wait_for_end
from tests.system.local.conftest import Machine, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process that runs already")


def allocate(size: int) -> int:
    return len(bytearray(size))


def allocate_in_a_child(size: int) -> int:
    import subprocess
    import sys

    return subprocess.run([sys.executable, "-S", "-c", f"bytearray({size})"], check=False).returncode


def spin() -> None:
    while True:
        pass


def limits() -> tuple[int, int]:
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CPU)[0]


for travelling in (allocate, allocate_in_a_child, spin, limits):
    # By value, for the pod has no module of these tests.
    travelling.__module__ = "__main__"


@pytest.fixture(params=["1", "0"], ids=["made ahead", "made when it comes"])
def standby(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_memory_beyond_the_limit_ends_as_out_of_memory(machine: Machine, standby: str) -> None:
    spec = make_job(machine.store, allocate, 4 << 30, memory_limit="2Gi")
    ended = run(machine.open(KINETIC_LOCAL_STANDBY=standby), spec)
    assert ended.state.status is JobStatus.FAILED
    assert ended.state.reason == "out of memory: limited to 2Gi (exit code 1)"
    assert isinstance(result_of(spec)["exception"], MemoryError)


def test_a_limit_too_small_to_start_in_is_told_with_a_remedy(machine: Machine) -> None:
    spec = make_job(machine.store, limits, memory_limit="17Mi")
    ended = run(machine.open(KINETIC_LOCAL_STANDBY="0"), spec)
    assert ended.state.status is JobStatus.FAILED
    assert "out of memory: limited to 17Mi" in ended.state.reason
    assert "raise memory_limit=" in ended.state.reason


def test_what_the_loader_finds_no_room_for_is_out_of_memory(machine: Machine) -> None:
    def load() -> None:
        raise ImportError("lib.so: failed to map segment from shared object")

    ended = run(machine.open(), make_job(machine.store, load, memory_limit="2Gi"))
    assert ended.state.reason == "out of memory: limited to 2Gi (exit code 1)"


def test_a_limit_beyond_what_the_system_can_count_is_none(machine: Machine, standby: str) -> None:
    spec = make_job(machine.store, limits, memory_limit="99999999Ei", cpu_time_limit=1e300)
    ended = run(machine.open(KINETIC_LOCAL_STANDBY=standby), spec)
    assert ended.state.status is JobStatus.SUCCEEDED
    assert "Traceback" not in ended.log


def test_memory_within_the_limit_is_there(machine: Machine) -> None:
    spec = make_job(machine.store, allocate, 64 << 20, memory_limit="2Gi")
    assert run(machine.open(), spec).state.status is JobStatus.SUCCEEDED
    assert result_of(spec)["result"] == 64 << 20


def test_a_failure_of_the_function_is_none_of_the_limit(machine: Machine) -> None:
    def fail() -> None:
        raise LookupError("x")

    ended = run(machine.open(), make_job(machine.store, fail, memory_limit="2Gi"))
    assert ended.state.reason == "the function, or a step before it, failed (exit code 1)"


def test_children_of_the_function_are_limited_too(machine: Machine) -> None:
    spec = make_job(machine.store, allocate_in_a_child, 4 << 30, memory_limit="2Gi")
    run(machine.open(), spec)
    assert result_of(spec)["result"] == 1


def test_processor_time_beyond_the_limit_ends_with_its_name(machine: Machine, standby: str) -> None:
    spec = make_job(machine.store, spin, cpu_time_limit=0.5, retries=2)
    ended = run(machine.open(KINETIC_LOCAL_STANDBY=standby), spec)
    assert ended.state.status is JobStatus.FAILED
    assert ended.state.reason == "used up its processor time: limited to 0.5 s"
    assert ended.state.exit_code == 152
    # It would use it up again.
    assert "job_retried" not in ended.kinds


def test_each_host_has_the_limits(machine: Machine) -> None:
    spec = make_job(machine.store, limits, hosts=2, memory_limit="3Gi", cpu_time_limit=7)
    assert run(machine.open(), spec).state.status is JobStatus.SUCCEEDED
    assert result_of(spec)["result"] == (3 << 30, 7)


def test_no_limit_is_the_clients_own(machine: Machine) -> None:
    import resource

    spec = make_job(machine.store, limits)
    run(machine.open(), spec)
    own = (resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CPU)[0])
    assert result_of(spec)["result"] == own


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedPod:
    return ScriptedPod(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL, possibly out of memory: limited to 2Gi"),
        ("os.abort()", "killed by SIGABRT, possibly out of memory: limited to 2Gi"),
        ("os._exit(3)", "exited with code 3 without a result"),
    ],
)
def test_an_end_that_a_limit_may_have_brought_names_it(pod: ScriptedPod, script: str, reason: str) -> None:
    backend = pod.open()
    ref = backend.submit(pod.job(f"import os, signal; {script}", memory_limit="2Gi"))
    wait_for_end(backend, ref)
    assert backend.status(ref).reason == reason


def test_a_limit_that_is_higher_than_the_clients_own_leaves_that(pod: ScriptedPod) -> None:
    script = "import resource; print(resource.getrlimit(resource.RLIMIT_AS)); raise SystemExit(3)"
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30)); exec({script!r})"
    backend = pod.open()
    ref = backend.submit(pod.job(limited, memory_limit="8Gi"))
    wait_for_end(backend, ref)
    assert str((5 << 30, 5 << 30)) in "".join(backend.logs(ref))


def test_all_variables_are_inherited_on_request_but_those_that_mislead(machine: Machine) -> None:
    def environ() -> dict[str, str]:
        import os

        return dict(os.environ)

    unwanted = ("PYTHONPATH", "TPU_WORKER_ID", "LWS_WORKER_INDEX", "JOB_COMPLETION_INDEX")
    more = {"MINE": "yes", "KINETIC_JOB_ID": "job-of-another"} | dict.fromkeys(unwanted, "3")
    backend = machine.open(**more)
    seen = []
    for inherits in (False, True):
        spec = make_job(machine.store, environ, inherit_env=inherits)
        assert run(backend, spec).state.status is JobStatus.SUCCEEDED
        seen.append(result_of(spec)["result"])
        assert seen[-1]["KINETIC_JOB_ID"] == spec.job_id
    without, inherited = seen
    assert "MINE" not in without
    assert inherited["MINE"] == "yes"
    assert set(unwanted).isdisjoint(inherited)
    assert inherited["UV_CACHE_DIR"] == machine.environ()["UV_CACHE_DIR"]
    assert os.environ.get("MINE") is None
