"""`kinetic gc` after clients, jobs and collections that were killed, and in stores where others write or that fail."""

import time
from pathlib import Path

import pytest

from tests.contract.conftest import Servers, cloudy_place, servers
from tests.fakes.project import Project
from tests.fakes.servers.proxy import Rule
from tests.fakes.servers.stores import CLOUDS
from tests.system.cli.conftest import Cli
from tests.system.cli.test_gc import age, gc, mine, names

__all__ = ["mine", "servers"]


def test_a_batch_with_a_job_that_was_killed_goes_too(cli: Cli, mine: Project) -> None:
    group_id = mine.run("""
        import json, job
        batch = job.die.run_async_map([1, 2])
        batch.wait()
        print(json.dumps(batch.group_id))
    """).said
    age(mine, 1)
    assert names(gc(cli, "--older-than", "1h"), "batch") == [group_id]


def shared(project: Project) -> tuple[str, dict[str, str]]:
    """Make a store that was configured, so that each user has a folder in it."""
    return f"file://{project.store}", {"KINETIC_STORAGE": f"file://{project.store}"}


def test_results_of_a_batch_that_goes_on_stay_in_a_store_with_folders_for_users(cli: Cli, mine: Project) -> None:
    started, (_, environ) = mine.base / "started", shared(mine)
    group_id = mine.run(
        f"""
        import json, time, pathlib, job
        batch = job.wait.run_async_map([{str(started)!r}] + [{str(mine.base / "nowhere" / "x")!r}])
        while not (pathlib.Path({str(started)!r}).exists() and batch.failures()):
            time.sleep(0.01)
        print(json.dumps(batch.group_id))
    """,
        environ=environ,
    ).said
    age(mine, 1)
    before = mine.stored()
    assert gc(cli, "--older-than", "1h", "--delete", **environ)["garbage"] == []
    assert mine.stored() == before
    assert cli("batches", "cancel", group_id, **environ).returncode == 0
    age(mine, 1)
    found = gc(cli, "--older-than", "1h", "--delete", **environ)
    assert (names(found, "job"), names(found, "batch")) == ([], [group_id])
    assert [name for name in mine.stored() if group_id in name or name.startswith("jobs/")] == []


def test_a_job_whose_function_is_called_after_a_batch_goes(cli: Cli, mine: Project) -> None:
    _, environ = shared(mine)
    job_id = mine.run(
        """
        import json, job
        handle = job.batch_of_one.run_async(2)
        handle.wait()
        print(json.dumps(handle.job_id))
    """,
        environ=environ,
    ).said
    age(mine, 1)
    assert names(gc(cli, "--older-than", "1h", **environ), "job") == [job_id]


@pytest.mark.parametrize("user", [None, "job", "batch"])
def test_what_a_killed_submission_left_goes_after_a_day(cli: Cli, mine: Project, user: str | None) -> None:
    environ = {} if user is None else {**shared(mine)[1], "LOGNAME": user}
    said = mine.run(
        """
        import json, job
        handle, batch = job.double.run_async(2), job.double.run_async_map([3])
        handle.result(cleanup=False), batch.results(cleanup=False)
        print(json.dumps([handle.job_id, batch.group_id]))
    """,
        environ=environ,
    ).said
    kept = mine.stored()
    assert gc(cli, **environ)["garbage"] == []
    for path in mine.store.glob("*/*"):
        if path.parent.name in ("jobs", "batches"):
            path.unlink()
    age(mine, 0.9)
    assert gc(cli, "--older-than", "0m", **environ)["garbage"] == []  # perhaps it is uploaded just now
    age(mine, 1.1)
    assert gc(cli, "--older-than", "2d", **environ)["garbage"] == []
    found = gc(cli, "--older-than", "1h", "--delete", **environ)
    assert len(names(found, "job")) == len(names(found, "batch")) == 1
    gone = set(kept) - set(mine.stored())
    assert all(any(part in name for name in gone) for part in (said[0].removeprefix("job-"), said[1]))
    assert [name for name in mine.stored() if not name.startswith(("cache/", "preflight/"))] == []


def test_a_store_that_fails_to_say_what_lives_loses_nothing(
    cli: Cli, mine: Project, tmp_path: Path, servers: Servers
) -> None:
    place = cloudy_place("s3", servers, tmp_path)
    assert place.proxy is not None
    url = place.url.replace(" ", "-")
    started = mine.base / "started"
    environ = {
        "KINETIC_STORAGE": url,
        "AWS_EC2_METADATA_DISABLED": "true",
        **CLOUDS["s3"].configured(place.proxy.address),
    }
    job_id = mine.run(
        f"""
        import json, time, pathlib, job
        handle = job.wait.run_async({str(started)!r})
        while not pathlib.Path({str(started)!r}).exists():
            time.sleep(0.01)
        print(json.dumps(handle.job_id))
    """,
        environ=environ,
    ).said
    try:
        time.sleep(1.5)
        before = sorted(one.key for one in place.open(url).list())
        place.proxy.break_(Rule(fault="status", status=403, method="GET", path=f"jobs/{job_id}$", times=99))
        ended = cli("gc", "--older-than", "0m", "--delete", **environ)
        place.proxy.break_()
        assert ended.returncode == 1
        assert f"jobs/{job_id}" in ended.stderr
        assert sorted(one.key for one in place.open(url).list()) == before
    finally:
        cli("jobs", "cancel", job_id, **environ)


def test_what_a_collection_of_a_batch_left_that_was_killed_goes(cli: Cli, mine: Project) -> None:
    group_id = mine.run("""
        import json, job
        batch = job.double.run_async_map([1, 2])
        batch.wait()
        print(json.dumps(batch.group_id))
    """).said
    (mine.store / "batches" / group_id).write_text('{"format": 1, "collected_at": "2026-11-30T00:00:00+00:00"}')
    age(mine, 2)
    for _ in range(2):  # the jobs, and then the folder to which none leads any more
        assert gc(cli, "--older-than", "1h", "--delete")["garbage"] != []
    assert [name for name in mine.stored() if not name.startswith(("cache/", "preflight/"))] == []
