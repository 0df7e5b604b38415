"""`kinetic jobs`: seeing to jobs of another process, by their id alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.cli.conftest import Cli

JOBS = """
import sys, time
import kinetic


@kinetic.run(accelerator="cpu", backend="local")
def add(a, b):
    print("adding", a, b)
    print("done")
    return {"sum": a + b, "pair": (a, b)}


@kinetic.run(accelerator="cpu", backend="local", hosts=2)
def speak():
    print("host", __import__("os").environ["KINETIC_HOST_INDEX"], "speaks")


@kinetic.run(accelerator="cpu", backend="local")
def fail():
    raise LookupError("no such thing")


@kinetic.run(accelerator="cpu", backend="local")
def wait_for(path):
    print("waiting", flush=True)
    while True:
        time.sleep(0.05)


if __name__ == "__main__":
    name, *args = sys.argv[1:]
    job = globals()[name].run_async(*map(eval, args))
    print(job.job_id)
"""


class Submitter:
    """Submits a job from a process of its own, which ends before the job does."""

    def __init__(self, project: Path, home: Path) -> None:
        self._script = project / "some_jobs.py"
        self._script.write_text(JOBS)
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
        self._environ = {**kept, "HOME": str(home)}

    def submit(self, name: str, *args: str) -> str:
        ended = subprocess.run(
            [sys.executable, str(self._script), name, *args],
            env=self._environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()


@pytest.fixture
def submitter(project: Path, home: Path) -> Submitter:
    return Submitter(project, home)


def test_a_finished_job_shows_status_log_and_value(cli: Cli, submitter: Submitter) -> None:
    job_id = submitter.submit("add", "1", "2")

    value = cli("jobs", "result", job_id)
    again = json.loads(cli("jobs", "result", job_id, "--json").stdout)
    status = json.loads(cli("jobs", "status", job_id, "--json").stdout)
    log = cli("jobs", "logs", job_id)

    assert (value.returncode, value.stdout) == (0, "{'sum': 3, 'pair': (1, 2)}\n"), value.stderr
    assert again == {"job_id": job_id, "value": None, "is_json": False, "repr": "{'sum': 3, 'pair': (1, 2)}"}
    assert (status["status"], status["func_name"], status["backend"]) == ("SUCCEEDED", "add", "local")
    assert "adding 1 2\ndone\n" in log.stdout
    assert "adding" not in cli("jobs", "logs", job_id, "--tail", "1").stdout


def test_a_status_comes_with_its_reason(cli: Cli, submitter: Submitter) -> None:
    job_id = submitter.submit("fail")
    assert cli("jobs", "result", job_id).returncode == 1
    assert json.loads(cli("jobs", "status", job_id, "--json").stdout)["reason"].endswith("failed (exit code 1)")
    assert "\nreason       the function, " in cli("jobs", "status", job_id).stdout


def test_the_log_of_each_host_can_be_asked_for(cli: Cli, submitter: Submitter) -> None:
    job_id = submitter.submit("speak")

    followed = cli("jobs", "logs", job_id, "--all-hosts", "--follow")

    assert {f"[host {host}] host {host} speaks" for host in range(2)} <= set(followed.stdout.splitlines())
    assert "host 1 speaks\n" in cli("jobs", "logs", job_id, "--host", "1").stdout
    assert "host 1 speaks" not in cli("jobs", "logs", job_id).stdout
    assert "[host 0] " in cli("jobs", "logs", job_id, "--all-hosts", "--tail", "1").stdout
    unknown = cli("jobs", "logs", job_id, "--host", "2")
    assert (unknown.returncode, unknown.stderr) == (1, f"kinetic: {job_id} has no host 2: it has 2 hosts, 0 to 1\n")
    assert cli("jobs", "logs", job_id, "--host", "1", "--all-hosts").returncode == 2


def test_a_failed_job_exits_with_1_and_shows_the_functions_own_exception(cli: Cli, submitter: Submitter) -> None:
    job_id = submitter.submit("fail")

    ended = cli("jobs", "result", job_id)

    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "LookupError: no such thing" in ended.stderr
    assert "kinetic/cli" not in ended.stderr


def test_a_running_job_is_listed_followed_cancelled_and_cleaned_up(cli: Cli, submitter: Submitter) -> None:
    job_id = submitter.submit("wait_for", "1")

    listed = json.loads(cli("jobs", "list", "--json").stdout)
    table = cli("jobs", "list").stdout.splitlines()
    late = cli("jobs", "result", job_id, "--timeout", "0.2")
    cancelled = cli("jobs", "cancel", job_id)
    ended = cli("jobs", "result", job_id)
    cleaned = cli("jobs", "cleanup", job_id)

    assert [job["job_id"] for job in listed] == [job_id]
    assert table[1].startswith(job_id)
    assert (late.returncode, "is still" in late.stderr) == (1, True)
    assert cancelled.stdout == f"{job_id}: CANCELLED\n"
    assert ended.returncode == 1
    assert "cancelled" in ended.stderr.lower()
    assert cleaned.returncode == 0
    assert cli("jobs", "status", job_id).stderr.startswith(f"kinetic: no job '{job_id}' in ")


def test_with_no_jobs_the_list_says_so(cli: Cli) -> None:
    assert cli("jobs", "list").stdout == "no live jobs\n"
    assert json.loads(cli("jobs", "list", "--json").stdout) == []


@pytest.mark.parametrize("command", ["status", "logs", "result", "cancel", "cleanup"])
def test_an_id_that_does_not_exist_is_one_clean_line_naming_the_store(cli: Cli, home: Path, command: str) -> None:
    ended = cli("jobs", command, "job-00000000")

    assert ended.returncode == 1
    assert ended.stderr.startswith("kinetic: no job 'job-00000000' in file://")
    assert len(ended.stderr.splitlines()) == 1


def test_collecting_with_cleanup_leaves_a_word_behind(cli: Cli, submitter: Submitter) -> None:
    job_id = submitter.submit("add", "1", "2")

    first = cli("jobs", "result", job_id, "--cleanup")
    second = cli("jobs", "result", job_id)

    assert first.returncode == 0
    assert second.returncode == 1
    assert "was collected at" in second.stderr


ASKED = "import sys, kinetic; kinetic.list_jobs(); print('kubernetes' in sys.modules)"


@pytest.fixture
def cluster(home: Path) -> None:
    """Let the user have a cluster that nobody answers for."""
    (home / ".kube").mkdir()
    (home / ".kube/config").write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\nusers: [{name: u, user: {}}]\n"
    )


@pytest.mark.parametrize(
    ("settings", "sign", "is_asked"),
    [
        ({}, "", False),
        ({"KINETIC_BACKEND": "local"}, "", False),
        ({"KINETIC_CLUSTER": "mine"}, "", True),
        ({"KINETIC_BACKEND": "gke"}, "", True),
        ({}, "gke", True),
        ({}, "local", False),
    ],
)
def test_a_cluster_is_asked_where_there_is_a_sign_of_it(
    cli: Cli, home: Path, cluster: None, settings: dict[str, str], sign: str, is_asked: bool
) -> None:
    pytest.importorskip("kubernetes")
    store = home / ".kinetic/store"
    (store / "jobs").mkdir(parents=True)
    (store / "jobs/job-0000000a").write_text('{"collected_at": "2026-01-01"}')
    (store / "jobs/job-0000000b").write_text("damaged")
    if sign:
        names = ("job_id", "backend", "func_name", "accelerator", "created_at", "storage", "folder", "result")
        record = dict.fromkeys(names, "x") | {"backend": sign, "ref": {"backend": sign, "job_id": "job-0000000c"}}
        (store / "jobs/job-0000000c").write_text('{"folder": "job-0000000c"}')
        (store / "job-0000000c").mkdir()
        (store / "job-0000000c/handle.json").write_text(json.dumps(record))
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **settings}
    ended = subprocess.run(
        [sys.executable, "-c", ASKED], env=environ, capture_output=True, text=True, check=True, cwd=home
    )
    assert ended.stdout == f"{is_asked}\n"
