"""`kinetic.package`: packaging as a library, and the runner by hand on what it wrote."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source import ROOT
from tests.fakes.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    made.write("helper.py", "def twice(x):\n    return 2 * x\n")
    made.write("data/a.txt", "A")
    made.write("id_rsa", "secret")
    made.write(
        "job.py",
        """
        import kinetic, helper
        def plain(x):
            return helper.twice(x)
        @kinetic.run(accelerator="cpu", retries=2)
        def decorated(x, data=None):
            return helper.twice(x)
        """,
    )
    return made


def test_the_package_tells_all_that_it_holds_and_nothing_is_submitted(project: Project) -> None:
    ended = project.run("""
        import attrs, json, kinetic, job
        kinetic.enable_logging("INFO")
        made = kinetic.package(job.decorated, (2,), {"data": kinetic.Data("data")}, directory="../out/deep")
        plain = kinetic.package(job.plain, [3], directory="../plain", accelerator="cpu")
        try:
            made.findings = ()
        except attrs.exceptions.FrozenInstanceError:
            print("immutable")
        (reference,) = made.references
        print(json.dumps({
            "root": [str(made.root.path), type(made.root.step).__name__, bool(made.root.reason)],
            "plan": made.plan["sys_path_rel"],
            "artifacts": [[one.path.name, one.size_bytes == one.path.stat().st_size, len(one.sha256)]
                          for one in (made.context, made.payload)],
            "entries": [[entry.name, entry.size_bytes, entry.mode & 0o777 > 0] for entry in made.manifest.entries],
            "skipped": [[skipped.name, skipped.reason] for skipped in made.manifest.skipped],
            "codes": [finding.code for finding in made.findings],
            "finding": all(finding.severity and finding.message is not None for finding in made.findings),
            "reference": [reference.uri.partition(":")[0], len(reference.uri.partition(":")[2]), reference.is_dir],
            "modules": list(made.modules_by_value),
            "plain": plain.payload.path.is_file(),
        }))
    """)
    said = ended.said
    assert "immutable" in ended.out
    assert said["root"][0] == str(project.root)
    assert said["root"][2]
    assert said["plan"][0] == ""
    assert said["artifacts"] == [["context.zip", True, 64], ["payload.pkl", True, 64]]
    names = [name for name, _, _ in said["entries"]]
    assert names == sorted(names)
    assert {"helper.py", "job.py", "id_rsa"} <= set(names)
    assert not [name for name in names if name.startswith("data/a")]
    assert said["skipped"] == []
    assert "secret_looking_files" in said["codes"]
    assert said["finding"]
    assert said["reference"] == ["cache", 64, True]
    assert set(said["modules"]) == {"helper", "job"}
    assert said["plain"]
    assert ended.err.count("id_rsa") == 2  # once each, for two packages
    assert not project.store.exists()
    assert sorted(path.name for path in (project.base / "out" / "deep").iterdir()) == ["context.zip", "payload.pkl"]


def by_hand(folder: Path) -> dict[str, Any]:
    """Run the runner on the package in a folder, as anybody would."""
    ran = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "kinetic_runner", "--result", f"file://{folder}/result.pkl"),
            *("--context", f"file://{folder}/context.zip", "--payload", f"file://{folder}/payload.pkl"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    record: dict[str, Any] = pickle.loads((folder / "result.pkl").read_bytes())
    return record


def test_the_runner_runs_a_package_by_hand(project: Project) -> None:
    project.run("import kinetic, job; kinetic.package(job.plain, (21,), directory='../out')")
    assert by_hand(project.base / "out")["result"] == 42


def test_data_that_nobody_can_open_is_told_before_anything_is_uploaded(project: Project) -> None:
    project.write("job.py", "def f(data): pass\n")
    code = """
        import kinetic, job
        kinetic.run(accelerator="cpu", backend="local")(job.f).run_async(kinetic.Data("foo://bucket/x"))
    """
    ended = project.run(code, fails=True)
    assert "PackagingError: Data has a URL at foo://, which neither a plugin nor fsspec knows" in ended.err
    assert project.stored() == []


def test_a_package_that_cannot_be_made_leaves_no_directory_behind(project: Project) -> None:
    ended = project.run(
        "import kinetic, job, threading; kinetic.package(job.plain, (threading.Lock(),), directory='../out')",
        fails=True,
    )
    assert "kinetic could not serialize argument 0 (type lock): " in ended.err
    assert not (project.base / "out").exists()


def test_requirements_are_written_for_isolated_local_runs(project: Project) -> None:
    project.write("requirements.txt", "numpy>=2  # fast\njax\n")
    ended = project.run("""
        import json, kinetic, job
        made = [
            kinetic.package(job.plain, [3], directory=f"../{isolation}", isolation=isolation).requirements
            for isolation in ("process", "venv")
        ]
        print(json.dumps([made[0], made[1].path.read_text()]))
    """)
    assert ended.said == [None, "numpy>=2\n"]


def test_who_writes_to_an_archive_changes_no_other(project: Project) -> None:
    ended = project.run("""
        import hashlib, json, kinetic, job, zipfile
        made = [kinetic.package(job.plain, [3], directory=f"../out{number}") for number in range(3)]
        for one in made[:2]:
            with zipfile.ZipFile(one.context.path, "a") as archive:
                archive.writestr("mine.txt", "mine")
        made.append(kinetic.package(job.plain, [3], directory="../out3"))
        print(json.dumps([hashlib.sha256(one.context.path.read_bytes()).hexdigest() == one.context.sha256
                          for one in made]))
        """)
    assert ended.out.splitlines()[-1] == "[false, false, true, true]"


def test_an_archive_that_cannot_be_copied_out_of_the_cache_is_a_failure_and_nothing_stays(project: Project) -> None:
    ended = project.run("""
        import errno, os, kinetic, job
        from kinetic.submission import snapshots
        def full(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        snapshots.unshare = full
        try:
            kinetic.package(job.plain, [3], directory="../out")
        except ValueError as error:
            print(os.path.exists("../out"), error)
        """)
    assert ended.out.startswith("False the context archive")
    assert "KINETIC_CACHE=off" in ended.out
