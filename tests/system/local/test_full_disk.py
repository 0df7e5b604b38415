"""A disk that is really full: a small one of the test's own."""

import shutil
import subprocess
import sys

import pytest

from tests.system.local.conftest import Machine

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]
JOB = """
import kinetic

@kinetic.run(accelerator="cpu", backend="local")
def talk():
    for _ in range(8):
        print("x" * 1_000_000)
"""
CALL = """
import job
try:
    job.talk.run_async().result()
except Exception as error:
    print(error)
"""


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.mark.skipif(not can_mount(), reason="nothing can be mounted here")
def test_a_job_that_fills_the_disk_of_its_log_says_so(machine: Machine) -> None:
    project = machine.base / "project"
    project.mkdir()
    machine.home.mkdir(parents=True, exist_ok=True)
    (project / "job.py").write_text(JOB)
    mount = f"mount -t tmpfs -o size=3m tmpfs {machine.home}"
    command = [*UNSHARE, "sh", "-c", f'{mount} && exec "$@"', "sh", sys.executable, "-c", CALL]
    environ = machine.environ(KINETIC_LOCAL_STANDBY="0")
    ended = subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert f"the disk of {machine.home}" in ended.stdout
    assert "is full)" in ended.stdout
    assert len(ended.stdout) < 20_000
