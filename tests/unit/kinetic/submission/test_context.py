"""The context archive of a submission, with a cache that remembers the last one."""

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import attrs
import pytest

from kinetic.submission import context
from kinetic.submission.context import Scanned, pack_context, scan_context
from kinetic.submission.snapshots import SnapshotCache, link_or_copy
from kinetic_core.model.trust import RACY_NS
from kinetic_core.packaging.archive import Written, write_archive
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.packaging.scan import Scan
from kinetic_core.packaging.treewalk import TreeWalk
from kinetic_core.wire.plan import Plan

PLAN = Plan(package_root="/p")


@attrs.frozen
class Project:
    root: Path
    job: Path
    cache: SnapshotCache

    def scan(self, mode: str = "off") -> Scanned:
        """Scan as if everything had lain there for long."""
        environ = {"KINETIC_CACHE": mode}
        scanned = scan_context(self.root, RuleSet.compile(()), cache=self.cache, environ=environ)
        return attrs.evolve(scanned, scan=settled(scanned.scan))

    def pack(self, mode: str | None = None) -> Written:
        environ = {} if mode is None else {"KINETIC_CACHE": mode}
        scanned, target = self.scan(mode or "on"), self.job / "context.zip"
        written = pack_context(scanned, PLAN, target, cache=self.cache, environ=environ)
        data = (self.job / "context.zip").read_bytes()
        assert written.artifact.path == self.job / "context.zip"
        assert written.artifact.sha256 == hashlib.sha256(data).hexdigest()
        assert data == write_archive(self.scan().scan, PLAN, self.job / "cold.zip").artifact.path.read_bytes()
        return written


def settled(found: Scan) -> Scan:
    return attrs.evolve(found, started_ns=found.started_ns + 2 * RACY_NS)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root, job = tmp_path / "root", tmp_path / "job"
    root.mkdir()
    job.mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (root / name).write_text(f"name = {name!r}\n" * 50)
    return Project(root, job, SnapshotCache(folder=tmp_path / "cache"))


def codes(written: Written) -> list[str]:
    return [finding.code for finding in written.findings]


def test_the_second_packaging_of_an_unchanged_project_writes_nothing(project: Project) -> None:
    assert not project.pack().is_earlier
    (project.job / "context.zip").unlink()
    assert project.pack().is_earlier


def test_an_edit_is_shipped_and_remembered(project: Project) -> None:
    project.pack()
    (project.root / "b.py").write_text("edited = True\n")
    assert not project.pack().is_earlier
    assert project.pack().is_earlier


def test_a_job_that_writes_to_its_archive_spoils_no_other(project: Project) -> None:
    project.pack()
    with (project.job / "context.zip").open("r+b") as stream:
        stream.write(b"spoiled")
    assert codes(project.pack()) == ["snapshot_damaged"]
    assert codes(project.pack()) == []


def test_off_neither_reads_nor_writes_the_cache(project: Project) -> None:
    project.pack("off")
    assert not project.cache.folder.exists()
    project.pack()
    (index,) = project.cache.folder.rglob("index")
    before = index.stat()
    assert not project.pack("off").is_earlier
    assert index.stat() == before


def test_a_mode_that_means_nothing_is_told_and_counts_as_on(project: Project) -> None:
    assert codes(project.pack("sometimes")) == ["setting_ignored"]
    assert project.pack().is_earlier


def test_verify_reads_everything_and_finds_nothing_amiss(project: Project) -> None:
    assert codes(project.pack("verify")) == []
    written = project.pack("verify")
    assert (codes(written), written.is_earlier) == ([], False)
    assert project.pack().is_earlier


def test_verify_tells_when_the_cache_would_have_shipped_something_else(project: Project) -> None:
    project.pack()
    other = attrs.evolve(project, root=project.root.with_name("other"))
    shutil.copytree(project.root, other.root)
    (other.root / "a.py").write_text("something else\n")
    # The cache of one project, forged to look like that of the other.
    forged = write_archive(other.scan().scan, PLAN, project.job / "forged.zip").snapshot
    real = project.cache.load(project.root)
    assert real is not None
    project.cache.keep(project.root, attrs.evolve(forged, listing=real.listing))

    written = project.pack("verify")

    assert codes(written) == ["snapshot_stale"]
    assert codes(project.pack("verify")) == []
    assert sorted(path.name for path in project.job.iterdir()) == ["cold.zip", "context.zip", "forged.zip"]


def test_verify_tells_when_directories_do_not_tell_of_a_name_that_came(project: Project) -> None:
    project.pack()
    status = project.root.stat()
    (project.root / "d.py").write_text("new = True\n")
    kept = project.cache.load(project.root)
    assert kept is not None
    assert kept.outline is not None
    # As if the file system kept the time of a directory whatever happens in it.
    listed_again = TreeWalk.of(project.root, RuleSet.compile(()), avoid=())
    listed_again.start(project.root)
    stale = listed_again.outline()
    assert project.root.stat().st_mtime_ns != status.st_mtime_ns
    project.cache.keep(project.root, attrs.evolve(kept, outline=stale))
    assert [finding.code for finding in project.scan("verify").scan.findings] == ["snapshot_stale"]
    assert [row[0] for row in project.scan("verify").scan.listing] == ["a.py", "b.py", "c.py", "d.py"]
    assert [row[0] for row in project.scan("off").scan.listing] == ["a.py", "b.py", "c.py", "d.py"]
    assert [row[0] for row in project.scan("on").scan.listing] == ["a.py", "b.py", "c.py"]
    project.pack("verify")
    assert project.scan("verify").scan.findings == ()


def test_an_archive_that_goes_while_it_is_handed_out_is_written_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.pack()
    (project.job / "context.zip").unlink()

    def lose(source: Path, target: Path) -> None:
        source.unlink()
        link_or_copy(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(context, "link_or_copy", lose)
        assert not project.pack().is_earlier
    assert project.pack().is_earlier


def test_that_nothing_changed_is_said_to_whoever_listens_closely(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    project.pack()
    with caplog.at_level(logging.DEBUG, logger="kinetic"):
        project.pack()
    assert "context_unchanged" in caplog.text


def test_threads_that_package_at_once_all_have_the_whole_archive(project: Project, tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        mine = attrs.evolve(project, job=tmp_path / f"job{number}")
        mine.job.mkdir()
        try:
            for _ in range(10):
                mine.pack()
        except BaseException as error:  # noqa: BLE001  the test's own thread raises it
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


RACE = """
import hashlib, os, random, sys, zipfile
from pathlib import Path
from kinetic.submission.context import pack_context, scan_context
from kinetic.submission.snapshots import SnapshotCache, link_or_copy
from kinetic_core.packaging.rules import RuleSet
from kinetic_core.wire.plan import Plan
root, job, cache = Path(sys.argv[1]), Path(sys.argv[2]), SnapshotCache(folder=Path(sys.argv[3]))
chance = random.Random(job.name)
for turn in range(40):
    if chance.random() < 0.4:
        fresh = job / "fresh"
        fresh.write_text(chance.choice("xyz") * chance.randrange(5, 2000))
        fresh.replace(root / chance.choice(["a.py", "b.py", "d.py"]))
    scanned = scan_context(root, RuleSet.compile(()), cache=cache, environ={})
    written = pack_context(scanned, Plan(package_root="/p"), job / "context.zip", cache=cache, environ={})
    data = (job / "context.zip").read_bytes()
    assert hashlib.sha256(data).hexdigest() == written.artifact.sha256
    with zipfile.ZipFile(job / "context.zip") as opened:
        assert opened.testzip() is None
        for name in opened.namelist()[:-1]:
            text = opened.read(name)
            assert name == "c.py" or text.count(text[:1]) == len(text) or text.startswith(b"name")
"""


def test_processes_that_package_and_edit_one_project_at_once_all_have_a_whole_archive(
    project: Project, tmp_path: Path
) -> None:
    jobs = [tmp_path / f"job{number}" for number in range(3)]
    for job in jobs:
        job.mkdir()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(project.root), str(job), str(project.cache.folder)],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "error"},
            cwd=Path(__file__).parents[4],
        )
        for job in jobs
    ]
    for process in running:
        _, err = process.communicate(timeout=100)
        assert (process.returncode, err) == (0, "")
    project.pack()
    project.pack("verify")
