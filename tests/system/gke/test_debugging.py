"""A debugger on this machine, and a function that stops for it in a pod."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.errors import ConfigError
from kinetic_gke.cluster.refusal import ClusterError
from kinetic_gke.cluster.tunnel import Tunnel
from kinetic_gke.manifest.command import debug_workspace
from tests.fakes.dap import Dap
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import name_of
from tests.fakes.kube.waiting import Room, until
from tests.fakes.project import Project
from tests.system.gke.conftest import Gke

pytest.importorskip("debugpy")

STARTED = """
    import json, train
    handle = train.work.run_async({argument})
    with handle.debug_attach(0) as session:
        print(json.dumps(session.launch), flush=True)
        print(json.dumps(handle.result()))
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    made.write(
        "train.py",
        """\
        import kinetic
        import helper

        @kinetic.run(accelerator="cpu", container_image="prebuilt", debug=True)
        def work(x):
            y = helper.twice(x)
            return y + 1
        """,
    )
    made.write("helper.py", "def twice(x):\n    return 2 * x\n")
    return made


@pytest.fixture(autouse=True)
def workspaces(room: Room) -> Iterator[None]:
    """Remove the workspaces, which a pod takes with it; a pod of the test cluster has them on this machine."""
    yield
    # Of every job that was in the namespace of the test, also of those that are not there any more: others work too.
    for name in {
        event["involvedObject"]["name"] for event in room.events() if event["involvedObject"]["kind"] == "Job"
    }:
        shutil.rmtree(Path(debug_workspace(name)), ignore_errors=True)


@pytest.fixture
def started(project: Project, environ: dict[str, str]) -> Iterator[list[subprocess.Popen[str]]]:
    """Return processes that end with the test."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def launch_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what a client printed first."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        pytest.fail(process.communicate()[1])
    found: dict[str, Any] = json.loads(line)
    return found


def stop(dap: Dap, launch: dict[str, Any], file: str, line: int) -> int:
    """Attach, and return the frame in which the function stops."""
    path = str(Path(launch["pathMappings"][0]["localRoot"], file))
    dap.attach(launch, {path: [line]})
    thread = dap.event("stopped")["threadId"]
    top = dap.answer(dap.ask("stackTrace", threadId=thread))["stackFrames"][0]
    assert (top["source"]["path"], top["line"]) == (path, line)
    frame: int = top["id"]
    return frame


def go_on(dap: Dap) -> None:
    (thread, *_) = dap.answer(dap.ask("threads"))["threads"]
    dap.answer(dap.ask("continue", threadId=thread["id"]))


def test_the_function_stops_where_the_editor_says_and_its_value_comes_home(
    project: Project, environ: dict[str, str], started: list[subprocess.Popen[str]]
) -> None:
    client = project.start(STARTED.format(argument=4), environ=environ)
    started.append(client)
    launch = launch_of(client)
    assert launch["pathMappings"][0]["localRoot"] == str(project.root)
    with Dap(launch["connect"]["port"]) as dap:
        frame = stop(dap, launch, "train.py", 7)
        assert dap.answer(dap.ask("evaluate", expression="y", frameId=frame))["result"] == "8"
        go_on(dap)
        out, err = client.communicate(timeout=60)
        assert (out, client.returncode) == ("9\n", 0), err


def test_two_jobs_are_debugged_at_once_each_in_its_own_files(
    project: Project, environ: dict[str, str], started: list[subprocess.Popen[str]]
) -> None:
    started += [project.start(STARTED.format(argument=number), environ=environ) for number in (1, 2)]
    launches = [launch_of(client) for client in started]
    with Dap(launches[0]["connect"]["port"]) as one, Dap(launches[1]["connect"]["port"]) as other:
        frames = [stop(dap, launch, "helper.py", 2) for dap, launch in zip((one, other), launches, strict=True)]
        seen = [
            dap.answer(dap.ask("evaluate", expression="x", frameId=frame))["result"]
            for dap, frame in zip((one, other), frames, strict=True)
        ]
        assert seen == ["1", "2"]
        for dap in (other, one):
            go_on(dap)
        assert [client.communicate(timeout=60)[0] for client in started] == ["3\n", "5\n"]


def test_a_job_that_nobody_attaches_to_goes_on_after_a_while(project: Project, environ: dict[str, str]) -> None:
    ended = project.run(
        "import train; print(train.work(4))",
        environ={**environ, "KINETIC_DEBUG_WAIT_TIMEOUT": "1", "KINETIC_NO_TTY_DEBUG": "1"},
    )
    assert ended.out.endswith("9\n")
    assert "no debugger attached in 1 s; the job goes on" in ended.out
    assert '"remoteRoot": "/tmp/kinetic-job-' in ended.err


def test_ctrl_c_leaves_the_job_waiting_and_the_command_line_leads_to_it(
    project: Project, environ: dict[str, str], room: Room, started: list[subprocess.Popen[str]]
) -> None:
    client = project.start("import train; train.work(4)", environ={**environ, "KINETIC_NO_TTY_DEBUG": "1"})
    started.append(client)
    (job,) = until(lambda: room.plain(room.batch.list_namespaced_job(room.namespace))["items"])
    pod = room.pod(name_of(job), "Running")
    until(lambda: "waiting up to 600 s" in room.log(name_of(pod)))
    client.send_signal(signal.SIGINT)
    _, err = client.communicate(timeout=60)
    job_id = pod["metadata"]["labels"]["job-id"]
    assert f"{job_id} goes on" in err

    command = f"from kinetic.cli import main; import sys; sys.argv[1:] = ['jobs', 'debug', {job_id!r}, '--port', '0']"
    leading = project.start(f"{command}; main()", environ=environ)
    started.append(leading)
    assert leading.stdout is not None
    text = ""
    while not text.endswith("\n}\n"):
        text += leading.stdout.readline()
    launch = json.loads(text)
    with Dap(launch["connect"]["port"]) as dap:
        stop(dap, launch, "train.py", 6)
        go_on(dap)
        assert f"{job_id} has ended: SUCCEEDED" in leading.communicate(timeout=60)[1]
    assert project.run(f"import kinetic; print(kinetic.attach({job_id!r}).result())", environ=environ).out == "9\n"


def test_when_the_pod_is_gone_the_debugger_is_hung_up_on_and_the_client_learns_why(
    project: Project, environ: dict[str, str], room: Room, started: list[subprocess.Popen[str]]
) -> None:
    client = project.start(STARTED.format(argument=4), environ=environ)
    started.append(client)
    launch = launch_of(client)
    with Dap(launch["connect"]["port"]) as dap:
        stop(dap, launch, "train.py", 7)
        (pod,) = room.plain(room.core.list_namespaced_pod(room.namespace))["items"]
        room.core.delete_namespaced_pod(name_of(pod), room.namespace, grace_period_seconds=0)
        assert dap.is_over()
    _, err = client.communicate(timeout=60)
    assert client.returncode == 1
    assert "JobFailedError" in err


def test_a_way_is_tried_again_after_what_may_pass_and_not_after_the_end(gke: Gke, healed: Cluster) -> None:
    ref = gke.backend.submit(gke.job(lambda: time.sleep(600), debug=True))
    assert gke.backend.debug_connection(ref) is None  # its pod has yet to start
    until(lambda: "waiting up to 600 s" in gke.log_of(ref))
    healed.fail_requests(path="/portforward", status=401, times=1)
    healed.fail_requests(path="/portforward", status=500, times=1)
    healed.fail_requests(path="/portforward", drop=True, times=1)
    found = [gke.backend.debug_connection(ref) for _ in range(3)]
    assert found[:2] == [None, None]
    assert isinstance(found[2], Tunnel)
    assert b"telemetry" in found[2].receive()
    found[2].close()
    found[2].close()
    assert found[2].receive() == b""
    with pytest.raises(OSError, match=r"."):
        found[2].send(b"anybody there?")
    gke.backend.cancel(ref)
    with pytest.raises(ConfigError, match="has ended"):
        gke.backend.debug_connection(ref)
    gke.backend.cleanup(ref)
    with pytest.raises(ConfigError, match="is not there any more"):
        gke.backend.debug_connection(ref)


def test_who_may_not_forward_ports_is_told_the_command_that_shows_it(gke: Gke, healed: Cluster) -> None:
    ref = gke.backend.submit(gke.job(lambda: time.sleep(600), debug=True))
    until(lambda: "waiting up to 600 s" in gke.log_of(ref))
    healed.fail_requests(path="/portforward", status=403, message="quiet, please")
    with pytest.raises(ClusterError, match=r"open a way to the pod .* it is forbidden \(quiet, please\)"):
        gke.backend.debug_connection(ref)
    gke.backend.cleanup(ref)
