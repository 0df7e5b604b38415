"""Hosts of one job that meet before the payload is loaded, by what the image offers."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kinetic_core.wire.plan import Plan
from kinetic_runner import image
from kinetic_runner.meeting import join, wanted
from tests.system.runner.artifacts import ROOT, Bench
from tests.unit.kinetic_runner.inprocess import record_of, run_here
from tests.unit.kinetic_runner.journal import Journal

MODULE = """
told = []
def join(coordinator, *, hosts, index):
    told.append((coordinator, hosts, index))
def leave(*, failed):
    told.append(failed)
"""
PLACE = {"KINETIC_COORDINATOR": "127.0.0.1:9", "KINETIC_NUM_HOSTS": "2"}
MEETS = {"x4": {"meets": True}, "dvc": {"rev": "1"}, "odd": 3}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of the image's import path, with a distribution that lets hosts meet."""
    folder = tmp_path / "site"
    offers = folder / "offers-1.0.dist-info"
    offers.mkdir(parents=True)
    (offers / "METADATA").write_text("Metadata-Version: 2.1\nName: offers\nVersion: 1.0\n")
    (offers / "entry_points.txt").write_text("[kinetic.hosts]\nx4 = x4_hosts\n")
    (folder / "x4_hosts.py").write_text(MODULE)
    monkeypatch.setattr(image, "_PATH", (str(folder), *sys.path))
    monkeypatch.delitem(sys.modules, "x4_hosts", raising=False)
    return folder


def told() -> Any:
    return sys.modules["x4_hosts"].told


def test_only_what_the_client_marked_is_wanted() -> None:
    assert wanted(Plan(package_root="", extensions=MEETS)) == ["x4"]


def test_nothing_is_looked_for_where_nothing_is_wanted(journal: Journal) -> None:
    assert join([], PLACE, index=0, log=journal) == []


def test_hosts_are_told_where_they_meet_and_which_they_are(site: Path, journal: Journal) -> None:
    (meeting,) = join(["x4"], PLACE, index=1, log=journal)
    meeting.leave(failed=False)
    assert told() == [("127.0.0.1:9", 2, 1), False]
    assert journal.warnings == []


def test_what_is_not_installed_is_a_warning_with_what_to_install(site: Path, journal: Journal) -> None:
    assert join(["y5"], PLACE, index=0, log=journal) == []
    (warning,) = journal.warnings
    assert "kinetic-run[y5]" in warning


def test_hosts_that_cannot_meet_are_a_failure(site: Path, journal: Journal) -> None:
    (site / "x4_hosts.py").write_text("def join(*_, **__): raise TimeoutError('nobody came')\n")
    with pytest.raises(RuntimeError, match=r"could not meet at 127\.0\.0\.1:9 by 'x4': TimeoutError: nobody came"):
        join(["x4"], PLACE, index=0, log=journal)


@pytest.mark.usefixtures("own_process")
def test_a_host_that_is_stopped_while_it_waits_for_the_others_says_so(site: Path, bench: Bench, tmp_path: Path) -> None:
    (site / "x4_hosts.py").write_text(
        "import os, signal, time\n"
        "def join(*_, **__): pass\n"
        "def leave(*, failed):\n    os.kill(os.getpid(), signal.SIGTERM)\n    time.sleep(60)\n"
    )
    bench.plan["extensions"] = MEETS
    bench.define("def f():\n    return 1\n")
    path = os.pathsep.join([str(ROOT), str(site)])
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "TMPDIR": str(tmp_path), **PLACE}
    command = [sys.executable, "-P", "-m", "kinetic_runner", *bench.write()]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 143, ran.stderr
    told = "in phase 'execute'; the call had returned, and this host waited for the others"
    assert told in ran.stderr + ran.stdout
    assert told in str(record_of(bench)["exception"])


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize("code", ["return sys.modules['x4_hosts'].told[:]", "raise LookupError"])
def test_a_run_meets_before_the_call_and_parts_after_it(
    site: Path, bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    for name, value in PLACE.items():
        monkeypatch.setenv(name, value)
    bench.plan["extensions"] = MEETS
    bench.define(f"import sys\ndef f():\n    {code}\n")
    failed = code.startswith("raise")
    assert run_here(bench, journal) == failed
    if not failed:
        assert record_of(bench)["result"] == [("127.0.0.1:9", 2, 0)]
    assert told() == [("127.0.0.1:9", 2, 0), failed]
