"""`kinetic gc` shows what nobody needs any more, and removes it when told to; what lives stays."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kinetic_fsspec.file import FileStorage
from tests.contract.conftest import Servers, cloudy_place, servers
from tests.fakes.project import Project
from tests.fakes.servers.stores import CLOUDS
from tests.system.cli.conftest import Cli

__all__ = ["servers"]
DAY_S = 86_400
JOB = """
    import os, pathlib, time
    import kinetic

    @kinetic.run(accelerator="cpu")
    def double(x):
        return 2 * x

    @kinetic.run(accelerator="cpu")
    def read(path):
        return pathlib.Path(path).read_text()

    @kinetic.run(accelerator="cpu")
    def batch_of_one(x):
        return x

    @kinetic.run(accelerator="cpu")
    def die(*_):
        os.kill(os.getpid(), 9)

    @kinetic.run(accelerator="cpu")
    def wait(path, *_):
        pathlib.Path(path).write_text("started")
        time.sleep(600)
"""


@pytest.fixture
def mine(tmp_path: Path, cli: Cli) -> Project:
    del cli  # its folders are the same
    made = Project(tmp_path)
    made.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    made.write("job.py", JOB)
    made.write("numbers", "1 2 3")
    return made


def age(project: Project, days: float, *below: str) -> None:
    """Make what lies in the store as old as that."""
    then = time.time() - days * DAY_S
    for path in project.store.rglob("*"):
        if path.is_file() and str(path.relative_to(project.store)).startswith(below or ("",)):
            os.utime(path, (then, then))


def gc(cli: Cli, *options: str, **environ: str) -> Any:
    ended = cli("gc", "--json", *options, **environ)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def names(found: Any, kind: str) -> list[str]:
    return [one["name"] for one in found["garbage"] if one["kind"] == kind]


def test_what_finished_long_ago_is_shown_first_and_goes_when_told(cli: Cli, mine: Project) -> None:
    kept = mine.run("""
        import json, job
        handle = job.double.run_async(2)
        handle.result(cleanup=False)
        job.double(3)  # leaves a tombstone
        print(json.dumps(handle.job_id))
    """).said
    age(mine, 40)
    young = mine.run("""
        import json, job
        handle = job.double.run_async(2)
        handle.result(cleanup=False)
        print(json.dumps(handle.job_id))
    """).said
    before = mine.stored()
    found = gc(cli)
    assert kept in names(found, "job")
    assert len(names(found, "job")) == 2
    assert young not in names(found, "job")
    assert not found["deleted"]
    assert found["size_bytes"] == sum(one["size_bytes"] for one in found["garbage"]) > 0
    assert mine.stored() == before
    shown = cli("gc").stdout
    assert kept in shown
    assert "would go, with --delete" in shown
    removed = gc(cli, "--delete")
    assert removed["deleted"]
    assert removed["size_bytes"] == found["size_bytes"]
    left = mine.stored_of_jobs()
    assert [name for name in left if not name.startswith((young, f"jobs/{young}", "cache/"))] == []
    assert (
        mine.run(f"""
        import json, kinetic
        print(json.dumps(kinetic.attach({young!r}).result()))
    """).said
        == 4
    )
    assert gc(cli, "--delete")["garbage"] == []


def test_a_result_that_nobody_collected_goes_by_its_age_and_its_owner_is_told(cli: Cli, mine: Project) -> None:
    code = """
        import kinetic, job, subprocess, sys
        handle = job.double.run_async(4)
        handle.wait()
        for age in ("1h", "0m"):
            subprocess.run([sys.executable, "-m", "kinetic.cli", "gc", "--older-than", age, "--delete"], check=True)
            try:
                print(handle.result(cleanup=False))
            except kinetic.KineticError as error:
                print(type(error).__name__, error)
    """
    said = [line for line in mine.run(code).out.splitlines() if line.startswith(("8", "JobFailedError"))]
    assert said[0] == "8"
    assert "is gone without a result" in said[1]
    assert "It was removed" in said[1]


def test_a_live_job_and_what_it_needs_stay_however_old(cli: Cli, mine: Project) -> None:
    started = mine.base / "started"
    job_id = mine.run(f"""
        import json, time, pathlib, job, kinetic
        handle = job.wait.run_async({str(started)!r}, kinetic.Data("numbers"))
        while not pathlib.Path({str(started)!r}).exists():
            time.sleep(0.01)
        print(json.dumps(handle.job_id))
    """).said
    try:
        handle = mine.store / job_id / "handle.json"
        submitted = datetime.now(UTC) - timedelta(days=400)
        handle.write_text(json.dumps(json.loads(handle.read_text()) | {"created_at": submitted.isoformat()}))
        age(mine, 400, "jobs", "cache", job_id)
        before = mine.stored()
        assert gc(cli, "--older-than", "0m", "--delete")["garbage"] == []
        assert mine.stored() == before
    finally:
        cli("jobs", "cancel", job_id)
    age(mine, 400, "jobs", "cache", job_id)
    assert names(gc(cli, "--older-than", "0m"), "job") == [job_id]


def test_a_live_job_whose_client_forgot_its_contexts_keeps_its_own(cli: Cli, mine: Project, home: Path) -> None:
    started = mine.base / "started"
    job_id = mine.run(f"""
        import json, time, pathlib, job
        handle = job.wait.run_async({str(started)!r})
        while not pathlib.Path({str(started)!r}).exists():
            time.sleep(0.01)
        print(json.dumps(handle.job_id))
    """).said
    try:
        for path in home.rglob("uses"):
            path.unlink()
        age(mine, 400)
        assert names(gc(cli), "context") == []
    finally:
        cli("jobs", "cancel", job_id)
    age(mine, 400)
    assert len(names(gc(cli), "context")) == 1


def test_data_goes_when_no_use_is_recent_and_a_use_renews_it(cli: Cli, mine: Project) -> None:
    code = """
        import job, kinetic
        job.read(kinetic.Data("numbers"))
    """
    mine.run(code)
    age(mine, 40, "cache")
    assert names(gc(cli), "data") == []  # it may have been used, without a trace, until 25 days ago
    age(mine, 60, "cache")
    (content,) = names(gc(cli), "data")
    mine.run(code)
    assert names(gc(cli), "data") == []
    age(mine, 60, "cache")
    assert names(gc(cli, "--delete"), "data") == [content]
    assert [name for name in mine.stored() if content in name] == []
    assert mine.run(code.replace("job.read", "print(job.read").replace('"))', '")))')).out.endswith("1 2 3\n")


def test_data_that_is_used_again_in_the_last_moment_stays(mine: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from kinetic.submission.collection import Collection
    from kinetic.submission.garbage import search_for

    mine.run("""
        import job, kinetic
        job.read(kinetic.Data("numbers"))
    """)
    age(mine, 60, "cache")
    monkeypatch.setenv("HOME", str(mine.home))
    search = search_for(None, older_than_s=30 * DAY_S)
    found = [one for one in search.find() if one.kind == "data"]
    (marker,) = (one.keys[0] for one in found)
    content = FileStorage(mine.store).get_bytes(marker)
    collection = Collection(search=search, sleep=lambda _: FileStorage(mine.store).put_bytes(content, marker))
    before = mine.stored()
    assert collection.remove(found) == []
    assert mine.stored() == before
    # What was used between the look and the deletion is not touched at all.
    assert Collection(search=search).remove(found) == []
    assert mine.stored() == before


def test_contexts_stay_while_this_client_submits(mine: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from kinetic.submission.collection import Collection
    from kinetic.submission.garbage import search_for

    mine.run("import job; job.double(1)")
    monkeypatch.setenv("HOME", str(mine.home))
    search = search_for(None, older_than_s=0)
    age(mine, 60)
    for path in mine.home.rglob("uses"):
        path.unlink()
    found = [one for one in search.find() if one.kind == "context"]
    assert len(found) == 1
    with search.uses.together():
        assert Collection(search=search).remove(found) == []
    assert Collection(search=search).remove(found) == found


def test_a_batch_goes_as_a_whole_and_not_while_a_job_of_it_lives(cli: Cli, mine: Project) -> None:
    started = mine.base / "started"
    group_id = mine.run(f"""
        import json, time, pathlib, job
        batch = job.wait.run_async_map([{str(started)!r}])
        while not pathlib.Path({str(started)!r}).exists():
            time.sleep(0.01)
        print(json.dumps(batch.group_id))
    """).said
    age(mine, 400)
    assert gc(cli, "--older-than", "0m", "--delete")["garbage"] == []
    assert cli("batches", "cancel", group_id).returncode == 0
    age(mine, 400)
    found = gc(cli, "--delete")
    assert names(found, "batch") == [group_id]
    assert names(found, "job") == []
    assert [name for name in mine.stored() if group_id in name or name.startswith("jobs/")] == []


@pytest.mark.parametrize("wrong", ["30", "d", "-1d", "30 days"])
def test_an_age_that_is_none_is_wrong_usage(cli: Cli, wrong: str) -> None:
    ended = cli("gc", f"--older-than={wrong}")
    assert ended.returncode == 2
    assert "such as 30d" in ended.stderr


def test_an_empty_store_has_nothing(cli: Cli) -> None:
    assert "is older than 30d" in cli("gc").stdout


@pytest.mark.parametrize("scheme", ["gs"])
def test_it_works_on_an_object_store_and_leaves_what_is_others(
    cli: Cli, mine: Project, scheme: str, servers: Servers, tmp_path: Path
) -> None:
    place = cloudy_place(scheme, servers, tmp_path)
    assert place.proxy is not None
    url = place.url.replace(" ", "-")
    environ = {
        "KINETIC_STORAGE": url,
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        "NO_GCE_CHECK": "true",
        **CLOUDS[scheme].configured(place.proxy.address),
    }
    code = """
        import json, job
        handle = job.double.run_async(2)
        handle.result(cleanup=False)
        print(json.dumps(handle.job_id))
    """
    ours = mine.run(code, environ={**environ, "USER": "ada"}).said
    theirs = mine.run(code, environ={**environ, "USER": "grace"}).said
    found = gc(cli, "--older-than", "0m", "--delete", **environ, USER="ada")
    assert names(found, "job") == [ours]
    left = [one.key for one in place.open(url).list()]
    assert [key for key in left if ours.removeprefix("job-") in key] == []
    assert len([key for key in left if theirs.removeprefix("job-") in key]) > 2


def test_without_the_list_of_what_jobs_need_nothing_goes(cli: Cli, mine: Project) -> None:
    mine.run("import job; print(job.double(2))")
    (uses,) = mine.home.rglob("stores/*/uses")
    uses.unlink()
    uses.mkdir()
    age(mine, 90)
    ended = cli("gc", "--delete")
    assert ended.returncode == 1
    assert ended.stderr.startswith("kinetic: nobody can tell which contexts in ")
    assert "Traceback" not in ended.stderr
