"""The cluster as a whole: the real runner in it, and nothing of it left."""

import json
import os
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from tests.fakes.kube.bodies import IMAGE, job
from tests.fakes.kube.cluster import ROOT, Cluster, running_cluster
from tests.fakes.kube.objects import holds, name_of
from tests.fakes.kube.waiting import PATIENCE_S, Room, until
from tests.system.runner.artifacts import Bench

BARE_IMAGE = Path(__file__).parents[2] / "golden" / "gke" / "cpu-bare-image.json"
# Starts a cluster and a pod, tells of both, and waits to be killed.
HOLDER = """
import json, sys, time
from tests.fakes.kube.bodies import job
from tests.fakes.kube.cluster import running_cluster

with running_cluster() as cluster:
    script = "import os, time; print(os.getpid()); time.sleep(600)"
    cluster.call("POST", "/apis/batch/v1/namespaces/default/jobs", job("stays", script))
    text = b""
    while not text:
        time.sleep(0.02)
        for pod in json.loads(cluster.call("GET", "/api/v1/namespaces/default/pods"))["items"]:
            if pod["status"]["phase"] == "Running":
                text = cluster.call("GET", "/api/v1/namespaces/default/pods/" + pod["metadata"]["name"] + "/log")
    print(text.decode().strip(), cluster.folder, flush=True)
    if sys.argv[1] == "wait":
        time.sleep(600)
"""


@pytest.mark.usefixtures("cluster")
def test_the_real_runner_runs_in_a_pod(room: Room, tmp_path: Path) -> None:
    bench = Bench(folder=tmp_path)
    bench.define("def f(a, b):\n    print('in the pod')\n    return a * b\n", "f", 6, b=7)
    command = ["python", "-P", "-m", "kinetic_runner", *bench.write()]
    main = {"name": "kinetic-worker", "image": IMAGE, "command": command}
    room.create(job("real", "", main={**main, "env": [{"name": "PYTHONPATH", "value": str(ROOT)}]}))
    found = room.finished("real")
    log = room.log(name_of(room.pod("real")))
    assert holds(found, "Complete"), log
    assert "in the pod" in log
    record = bench.read("result.pkl")
    assert record is not None
    assert (record["success"], record["result"]) == (True, 42)


def test_an_image_brings_an_interpreter_and_variables(healed: Cluster, room: Room, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    healed.bring("^bare:", programs=tmp_path / "bare" / "bin", env={"EMULATOR": "here"})
    script = "import importlib.util as u, os; print(u.find_spec('attr') is None, os.environ.get('EMULATOR'))"
    room.create(job("bare", script, main={"image": "bare:1"}))
    room.create(job("full", script, main={"image": "full:1"}))
    assert {name: room.finished(name) and room.log(name_of(room.pod(name))) for name in ("bare", "full")} == {
        "bare": "True here\n",
        "full": "False None\n",
    }


def test_a_bare_interpreter_gets_the_runner_by_the_init_container_of_our_manifests(
    healed: Cluster, room: Room, tmp_path: Path
) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    healed.bring("^python:", programs=tmp_path / "bare" / "bin")
    bench = Bench(folder=tmp_path)
    bench.define("def f(a):\n    return a + 1\n", "f", 41)
    (body,) = (each for each in json.loads(BARE_IMAGE.read_text(encoding="utf-8")) if each["kind"] == "Job")
    body["metadata"] |= {"namespace": room.namespace}
    body["spec"]["template"]["spec"]["containers"][0]["args"] = bench.write()
    name = room.create(body)["metadata"]["name"]
    assert holds(room.finished(name), "Complete"), room.log(name_of(room.pod(name)))
    record = bench.read("result.pkl")
    assert record is not None
    assert record["result"] == 42


@pytest.mark.usefixtures("cluster")
def test_the_real_runner_is_told_to_stop_and_writes_why(room: Room, tmp_path: Path) -> None:
    bench = Bench(folder=tmp_path)
    bench.define("import time\ndef f():\n    print('up', flush=True)\n    time.sleep(600)\n")
    command = ["python", "-P", "-u", "-m", "kinetic_runner", *bench.write()]
    env = [{"name": "PYTHONPATH", "value": str(ROOT)}]
    pod = {"terminationGracePeriodSeconds": 60}
    room.create(job("told", "", pod=pod, main={"command": command, "env": env}))
    name = name_of(room.pod("told", "Running"))
    until(lambda: "up" in room.log(name))
    room.batch.delete_namespaced_job("told", room.namespace, propagation_policy="Background")
    until(lambda: not room.pods("told"))
    record = bench.read("result.pkl")
    assert record is not None
    assert record["success"] is False


def holder(how: str) -> "subprocess.Popen[str]":
    """Start the holder."""
    command = [sys.executable, "-c", HOLDER, how]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def runs(process: int) -> bool:
    """Tell whether a process is there, and no mere remainder that nobody has waited for."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("how", ["wait", "leave"])
def test_pods_end_with_whoever_started_the_cluster(how: str) -> None:
    with holder(how) as process:
        assert process.stdout is not None
        pod, folder = process.stdout.readline().split()
        if how == "wait":
            process.send_signal(signal.SIGKILL)
    end = time.monotonic() + PATIENCE_S
    while runs(int(pod)) or servers(folder):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert not Path(folder).exists()


def servers(folder: str) -> list[str]:
    """Return the processes that serve the cluster of that folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"tests.fakes.kube" in words and folder.encode() in words:
            found.append(entry.parent.name)
    return found


def test_a_cluster_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="did not start"), running_cluster():
        pass
