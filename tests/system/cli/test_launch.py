"""`kinetic launch` lasts as long as its job, and ends as that does."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.system.cli.conftest import Cli

JOB = """
import os, pathlib, sys, time
import kinetic


@kinetic.run(accelerator="cpu", backend="local")
def act(what="return", path=""):
    print("acting", flush=True)
    if what == "raise":
        raise LookupError("nothing there")
    if what == "die":
        os.kill(os.getpid(), 9)
    if what == "wait":
        pathlib.Path(path).touch()
        time.sleep(600)
    return None if what == "none" else {"done": what}


@kinetic.run(accelerator="cpu", backend="local")
def needs(x):
    return x
"""


@pytest.fixture(autouse=True)
def job(project: Path) -> None:
    (project / "job.py").write_text(JOB)


def test_the_log_is_followed_and_the_value_printed(cli: Cli) -> None:
    ended = cli("launch", "job.py:act")
    assert (ended.returncode, ended.stdout) == (0, "acting\n{'done': 'return'}\n")


def test_no_value_is_not_printed(cli: Cli) -> None:
    ended = cli("launch", "job.py:act", "--args", '["none"]')
    assert (ended.returncode, ended.stdout) == (0, "acting\n")


@pytest.mark.parametrize(
    ("what", "code", "told"), [("raise", 1, "LookupError: nothing there"), ("die", 137, "SIGKILL")]
)
def test_a_failure_is_told_and_its_code_is_the_commands(cli: Cli, what: str, code: int, told: str) -> None:
    ended = cli("launch", "job.py:act", "--args", f'["{what}"]')
    assert ended.returncode == code
    assert ended.stdout.startswith("acting\n")
    assert told in ended.stderr


def test_a_detached_job_is_left_running_and_known_by_its_id(cli: Cli, tmp_path: Path) -> None:
    started = cli("launch", "job.py:act", "--detach", "--kwargs", f'{{"what": "wait", "path": "{tmp_path}/here"}}')
    (job_id,) = started.stdout.split()
    assert job_id in cli("jobs", "list").stdout
    assert cli("jobs", "cancel", job_id).stdout == f"{job_id}: CANCELLED\n"


def test_ctrl_c_leaves_the_job_running(cli: Cli, project: Path, home: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    # A shell starts what runs in its background deaf to Ctrl-C.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    call = f"import sys; sys.argv = ['kinetic', 'launch', 'job.py:act', '--args', '[\"wait\", \"{here}\"]']"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{listen}; {call}; from kinetic.cli import main; main()"],
        cwd=project,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    while not here.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    (said,) = [line for line in err.splitlines() if "goes on" in line]
    job_id = said.split()[1]
    assert "RUNNING" in cli("jobs", "status", job_id).stdout
    cli("jobs", "cancel", job_id)


def test_what_cannot_be_called_is_wrong_usage(cli: Cli, home: Path) -> None:
    ended = cli("launch", "job.py:needs")
    assert ended.returncode == 2
    assert "needs arguments" in ended.stderr
    assert not (home / ".kinetic").exists()
