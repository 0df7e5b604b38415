"""Many jobs in one process: no file handle, process, thread or directory is left."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.local.soaking import LEAST_JOBS, Facts, processes

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to count"),
    pytest.mark.timeout(600),
]


def soaked(what: str, folder: Path) -> Facts:
    """Run the jobs in a process of their own: what other tests here open and close would be counted, too."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.system.local.soaking", what, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return Facts.from_json(ended.stdout)


def assert_nothing_left(facts: Facts, home: Path) -> None:
    assert facts.jobs >= LEAST_JOBS
    assert not facts.grew, (facts.before, facts.after)
    assert (facts.live, facts.state, facts.files) == ([], [], [])
    assert [process for process in processes() if is_of(home, process)] == []


def is_of(home: Path, process: Path) -> bool:
    """Tell whether a process is one of those jobs'."""
    try:
        return f"HOME={home}\0".encode() in (process / "environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


def test_hundreds_of_jobs_leave_nothing(tmp_path: Path) -> None:
    """With the real runner, in processes that are made ahead."""
    facts = soaked("runners", tmp_path)
    assert facts.statuses == ["FAILED", "SUCCEEDED"]
    # A supervisor and a runner for each.
    assert len(facts.pids) == 2 * facts.jobs
    assert_nothing_left(facts, tmp_path / "home")


def test_many_jobs_of_which_some_are_cancelled_leave_nothing(tmp_path: Path) -> None:
    """With scripts, in processes that are made when a job comes; each starts another that leaves its group."""
    facts = soaked("scripts", tmp_path)
    assert facts.statuses == ["CANCELLED", "FAILED"]
    assert_nothing_left(facts, tmp_path / "home")
