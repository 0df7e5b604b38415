"""`hosts=N`: a job on several hosts, each a runner of its own on this machine."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetic.testing.jobs import make_job, result_of
from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobSpec, JobStatus
from kinetic_local.pod import read_events
from tests.fakes.project import Project
from tests.fakes.scripted_runner import is_running, wait_until
from tests.system.local.conftest import WAIT_S, Machine, run


def look() -> dict[str, Any]:
    import os
    import tempfile
    from pathlib import Path

    index = os.environ["KINETIC_HOST_INDEX"]
    print(f"this is host {index}")
    names = ("KINETIC_NUM_HOSTS", "KINETIC_JOB_ID", "KINETIC_MOUNT_ROOT")
    seen = {name: os.environ[name] for name in names} | {"cwd": str(Path.cwd()), "temp": tempfile.gettempdir()}
    Path(os.environ["KINETIC_OUTPUT_DIR"].removeprefix("file://"), f"{index}.txt").write_text(repr(seen))
    return seen | {"index": index}


def act(folder: str, acts: dict[int, str]) -> int:
    """Do as this host is told, when all hosts are there."""
    import os
    import signal
    import subprocess
    import sys
    import time
    from pathlib import Path

    index, hosts = int(os.environ["KINETIC_HOST_INDEX"]), int(os.environ["KINETIC_NUM_HOSTS"])
    print(f"host {index} is told to {acts.get(index, 'wait')}", flush=True)
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
    Path(folder, f"{index}.part").write_text(f"{os.getpid()} {child.pid}")
    Path(folder, f"{index}.part").rename(Path(folder, f"{index}.here"))
    while len(list(Path(folder).glob("*.here"))) < hosts:
        time.sleep(0.01)
    match acts.get(index, "wait"):
        case "raise":
            raise LookupError(f"host {index} found nothing")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die once" if not Path(folder, "died").exists():
            Path(folder, "died").touch()
            for path in Path(folder).glob("*.here"):
                path.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        case "wait":
            time.sleep(600)
    return index


for travelling in (look, act):
    # By value, for the pod has no module of these tests.
    travelling.__module__ = "__main__"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "meeting"
    made.mkdir()
    return made


def job(machine: Machine, function: Callable[..., Any], *args: Any, **options: Any) -> JobSpec:
    return make_job(machine.store, function, *args, **{"hosts": 3, **options})


def pids(folder: Path) -> list[int]:
    return [int(pid) for path in folder.glob("*.here") for pid in path.read_text().split()]


def test_each_host_knows_itself_and_has_places_of_its_own(machine: Machine) -> None:
    spec = job(machine, look)
    outputs = Path(spec.output_dir.removeprefix("file://"))
    outputs.mkdir(parents=True)
    ended = run(machine.open(), spec)
    assert ended.state.status is JobStatus.SUCCEEDED, ended.log
    seen = [eval((outputs / f"{host}.txt").read_text()) for host in range(3)]
    assert {one["KINETIC_NUM_HOSTS"] for one in seen} == {"3"}
    assert {one["KINETIC_JOB_ID"] for one in seen} == {spec.job_id}
    for place in ("cwd", "temp", "KINETIC_MOUNT_ROOT"):
        assert len({one[place] for one in seen}) == 3
    assert result_of(spec)["result"] == {**seen[0], "index": "0"}
    records = sorted(path.name for path in Path(spec.job_url.removeprefix("file://")).glob("result*"))
    assert records == ["result.pkl"]


def test_each_host_has_a_log(machine: Machine) -> None:
    spec = job(machine, look)
    Path(spec.output_dir.removeprefix("file://")).mkdir(parents=True)
    backend = machine.open()
    ref = backend.submit(spec)
    followed = "".join(backend.host_logs(ref, follow=True))
    said = [line for line in followed.splitlines(keepends=True) if "this is" in line]
    assert sorted(said) == [f"[host {host}] this is host {host}\n" for host in range(3)]
    assert sorted("".join(backend.host_logs(ref)).splitlines()) == sorted(followed.splitlines())
    assert "".join(backend.host_logs(ref, tail=1)).count("\n") == 3
    assert "this is host 2\n" in "".join(backend.host_logs(ref, host=2))
    assert "".join(backend.host_logs(ref, host=0)) == "".join(backend.logs(ref))
    assert "host 1" not in "".join(backend.logs(ref))
    with pytest.raises(ConfigError, match=r"has no host 3: it has 3 hosts, 0 to 2"):
        backend.host_logs(ref, host=3)
    backend.cleanup(ref)
    assert not Path(spec.job_url.removeprefix("file://"), "pod").exists()


def test_events_tell_of_each_host(machine: Machine, folder: Path) -> None:
    ended = run(machine.open(), job(machine, act, str(folder), dict.fromkeys(range(3), "return")))
    told = [(event.kind, event.details.get("host")) for event in ended.events]
    assert told[:4] == [("job_submitted", None), ("job_started", None), ("host_started", 1), ("host_started", 2)]
    assert sorted(told[4:-1], key=str) == [("host_ended", host) for host in range(3)]
    assert told[-1][0] == "job_ended"
    assert {event.status for event in ended.events[1:-1]} == {JobStatus.RUNNING}


@pytest.mark.parametrize(
    ("acts", "reason", "code"),
    [
        ({2: "raise"}, "host 2: the function, or a step before it, failed (exit code 1)", 1),
        ({1: "die"}, "host 1: killed by SIGKILL, possibly out of memory", 137),
        ({0: "return", 2: "die"}, "host 2: killed by SIGKILL, possibly out of memory", 137),
    ],
)
def test_a_host_that_fails_ends_the_job(
    machine: Machine, folder: Path, acts: dict[int, str], reason: str, code: int
) -> None:
    ended = run(machine.open_hasty(1), job(machine, act, str(folder), acts))
    assert (ended.state.status, ended.state.reason, ended.state.exit_code) == (JobStatus.FAILED, reason, code)
    assert ended.state.failed_host == max(acts)
    assert [pid for pid in pids(folder) if is_running(pid)] == []


def test_cancelling_ends_every_host(machine: Machine, folder: Path) -> None:
    backend = machine.open()
    ref = backend.submit(job(machine, act, str(folder), {}))
    wait_until(lambda: len(pids(folder)) == 6)
    backend.cancel(ref)
    assert backend.status(ref).status is JobStatus.CANCELLED
    assert [pid for pid in pids(folder) if is_running(pid)] == []


def test_a_job_that_takes_too_long_ends_on_every_host(machine: Machine, folder: Path) -> None:
    ended = run(machine.open_hasty(0.5), job(machine, act, str(folder), {}, timeout=3))
    assert (ended.state.reason, ended.state.failed_host) == ("timed out after 3 s", None)
    assert [pid for pid in pids(folder) if is_running(pid)] == []


def test_a_killed_supervisor_takes_every_host_along(machine: Machine, folder: Path) -> None:
    backend = machine.open()
    spec = job(machine, act, str(folder), {})
    ref = backend.submit(spec)
    wait_until(lambda: len(pids(folder)) == 6)
    events = read_events(f"{spec.job_url.removeprefix('file://')}/pod")
    os.kill(events[0]["details"]["pid"], signal.SIGKILL)
    runners = [event["details"]["pid"] for event in events if event["kind"] in ("job_started", "host_started")]
    assert len(runners) == 3
    wait_until(lambda: not any(map(is_running, runners)))
    assert list(backend.events(ref, timeout_s=WAIT_S))[-1].status is JobStatus.FAILED
    wait_until(lambda: not any(map(is_running, pids(folder))))


def test_another_attempt_is_one_of_all_hosts_and_forgets_what_the_first_recorded(
    machine: Machine, folder: Path
) -> None:
    acts = {0: "return", 1: "die once", 2: "return"}
    spec = job(machine, act, str(folder), acts, retries=1)
    ended = run(machine.open_hasty(5), spec)
    assert ended.state.status is JobStatus.SUCCEEDED, ended.state.reason
    assert "job_retried" in ended.kinds
    assert result_of(spec)["result"] == 0
    assert list(Path(spec.job_url.removeprefix("file://")).glob("result-worker-*")) == []


def test_hosts_that_started_before_one_could_not_are_ended(machine: Machine, folder: Path) -> None:
    spec = job(machine, act, str(folder), {})
    pod = Path(spec.job_url.removeprefix("file://"), "pod")
    (pod / "log-1").mkdir(parents=True)
    ended = run(machine.open(), spec)
    assert ended.state.status is JobStatus.FAILED
    assert ended.state.reason.startswith("the runner could not be started: ")
    (pod / "log-1").rmdir()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "client")
    made.write("pyproject.toml", "[project]\nname = 'mine'\nversion = '0'\ndependencies = []\n")
    made.write(
        "train.py",
        """
        import os, pathlib, signal, time
        import kinetic

        @kinetic.run(accelerator="cpu", backend="local", hosts=3)
        def f(folder, failing, how):
            index = int(os.environ["KINETIC_HOST_INDEX"])
            print(f"host {index} speaks", flush=True)
            pathlib.Path(folder, str(index)).touch()
            while len(list(pathlib.Path(folder).iterdir())) < 3:
                time.sleep(0.01)
            if index in failing:
                if how == "die":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise LookupError(f"host {index} found nothing")
            while failing:
                time.sleep(0.1)
            return index
        """,
    )
    return made


def test_the_value_is_that_of_host_0_and_the_log_of_any_can_be_asked_for(project: Project, folder: Path) -> None:
    ended = project.run(
        f"""
        import json, train
        handle = train.f.run_async({str(folder)!r}, [], "")
        value = handle.result(cleanup=False)
        print(json.dumps([value, handle.logs(), handle.logs(host=2), handle.logs(host="all"), handle.tail(1, host=1)]))
        """
    )
    value, leader, third, every, last = ended.said
    assert value == 0
    assert "host 0 speaks\n" in leader
    assert "host 2 speaks\n" in third
    assert {f"[host {host}] host {host} speaks" for host in range(3)} <= set(every.splitlines())
    assert last.endswith("\n")


def test_the_failing_hosts_error_comes_home_and_not_that_of_a_host_that_was_stopped(
    project: Project, folder: Path
) -> None:
    ended = project.run(f"import train; train.f({str(folder)!r}, [2], 'raise')", fails=True)
    assert "LookupError: host 2 found nothing" in ended.err
    assert "on host 2, phase 'execute'" in ended.err
    assert "also failed" not in ended.err


def test_a_host_that_died_is_named_with_its_own_log(project: Project, folder: Path) -> None:
    ended = project.run(f"import train; train.f({str(folder)!r}, [1], 'die')", fails=True)
    assert "JobFailedError" in ended.err
    assert "(host 1: killed by SIGKILL, possibly out of memory)" in ended.err
    assert "host 1 speaks" in ended.err.partition("last lines of its log:")[2]
    assert "told to stop" not in ended.err


def test_more_hosts_than_can_be_is_told_before_anything_is_uploaded(project: Project, folder: Path) -> None:
    ended = project.run(f"import train; train.f.options(hosts=5000)({str(folder)!r}, [], '')", fails=True)
    assert "hosts must be from 1 to 1024, got 5000" in ended.err
