"""Arrays: a batch is one Job, and each of its jobs stands for itself."""

import textwrap
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic.testing.jobs import result_of
from kinetic_core.model.job import JobRef, JobSpec, JobStatus
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.waiting import Room, until
from tests.fakes.project import Project
from tests.system.gke.conftest import WAIT_S, Gke, gke_at


def batch(gke: Gke, count: int, function: Any, *args: Any, first: int = 0x0A1B2C00, **options: Any) -> list[JobSpec]:
    """Make jobs as the client lays a batch out; each gets its number before the other arguments."""
    payloads = gke.store / "payloads"
    payloads.mkdir(parents=True, exist_ok=True)
    specs: list[JobSpec] = []
    for number in range(count):
        spec = gke.job(function, number, *args, job_id=f"job-{first + number:08x}", **options)
        path = payloads / f"{number}.pkl"
        path.write_bytes(Path(spec.payload.url.removeprefix("file://")).read_bytes())
        folder = f"file://{gke.store}/jobs/{number}-1"
        specs.append(
            attrs.evolve(
                spec,
                context=specs[0].context if specs else spec.context,
                payload=attrs.evolve(spec.payload, url=f"file://{path}"),
                result_url=f"{folder}/result.pkl",
                job_url=folder,
            )
        )
    return specs


def gated(gke: Gke, count: int, tmp_path: Path, **options: Any) -> list[JobSpec]:
    """Make jobs that note their start and wait for a gate."""

    def work(number: int, folder: str) -> tuple[int, str, str]:
        import os
        import pathlib
        import time

        place = pathlib.Path(folder)
        (place / f"began-{number}").touch()
        while not (place / "gate").exists():
            time.sleep(0.02)
        if number == 1:
            raise LookupError("one")
        return number, os.environ["KINETIC_JOB_ID"], os.environ.get("TOKEN", "")

    return batch(gke, count, work, str(tmp_path), **options)


def began(tmp_path: Path) -> list[int]:
    return sorted(int(path.name.partition("-")[2]) for path in tmp_path.glob("began-*"))


def jobs(room: Room) -> list[Obj]:
    found: list[Obj] = room.plain(room.batch.list_namespaced_job(room.namespace))["items"]
    return found


def end_of(gke: Gke, ref: JobRef) -> JobStatus:
    list(gke.backend.events(ref, timeout_s=WAIT_S))
    return gke.backend.status(ref).status


def test_a_batch_is_one_job_with_a_result_a_log_and_a_failure_of_each_its_own(gke: Gke, tmp_path: Path) -> None:
    specs = gated(gke, 4, tmp_path, hidden={"TOKEN": "t"})
    (tmp_path / "gate").touch()
    refs = gke.backend.submit_many(specs)
    assert [ref.job_id for ref in refs] == [spec.job_id for spec in specs]
    assert [end_of(gke, ref) for ref in refs] == ["SUCCEEDED", "FAILED", "SUCCEEDED", "SUCCEEDED"]
    assert gke.backend.status(refs[1]).reason == "exited with code 1"
    values = [result_of(spec)["result"] for spec in specs]
    assert values == [None if number == 1 else (number, specs[number].job_id, "t") for number in range(4)]
    assert "LookupError: one" in gke.log_of(refs[1])
    assert "LookupError" not in gke.log_of(refs[2])
    assert [event.kind for event in gke.backend.events(refs[3])] == ["job_submitted", "job_started", "job_ended"]
    assert len(jobs(gke.room)) == 1


def test_no_more_run_than_may_and_the_others_say_what_they_wait_for(gke: Gke, tmp_path: Path) -> None:
    refs = gke.backend.submit_many(gated(gke, 3, tmp_path), max_concurrent=1)
    until(lambda: began(tmp_path) == [0])
    states = [gke.backend.status(ref) for ref in refs]
    assert [state.status for state in states] == ["RUNNING", "PENDING", "PENDING"]
    assert states[2].reason == "waiting for other jobs of its batch"
    assert {ref.job_id for ref in gke.backend.find()} == {ref.job_id for ref in refs}
    assert sorted(gke.backend.find(), key=lambda ref: ref.job_id) == list(refs)
    (tmp_path / "gate").touch()
    assert [end_of(gke, ref) for ref in refs] == ["SUCCEEDED", "FAILED", "SUCCEEDED"]


def test_submitting_again_alone_or_among_others_starts_none_twice(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    specs = gated(gke, 4, tmp_path)
    healed.fail_requests(method="POST", path=f"{gke.room.namespace}/jobs", lose_reply=True, times=1)
    refs = gke.backend.submit_many(specs[:3])
    assert gke.backend.submit_many(specs[:3]) == refs
    assert gke.backend.submit(specs[1]) == refs[1]
    later = gke_at(gke.room, gke.kubeconfig, tmp_path / "later")
    more = later.backend.submit_many(specs)
    assert list(more[:3]) == list(refs)
    assert len(jobs(gke.room)) == 2
    (tmp_path / "gate").touch()
    assert [end_of(gke, ref) for ref in more] == ["SUCCEEDED", "FAILED", "SUCCEEDED", "SUCCEEDED"]
    assert began(tmp_path) == [0, 1, 2, 3]


def test_one_job_is_cancelled_while_it_runs_and_one_before_it_starts(gke: Gke, tmp_path: Path) -> None:
    refs = gke.backend.submit_many(gated(gke, 4, tmp_path), max_concurrent=1)
    until(lambda: began(tmp_path) == [0])
    for ref in (refs[0], refs[2], refs[2]):
        gke.backend.cancel(ref)
    later = gke_at(gke.room, gke.kubeconfig, tmp_path / "later")
    for one in (gke, later):
        assert [one.backend.status(refs[index]).status for index in (0, 2)] == ["CANCELLED"] * 2
    (tmp_path / "gate").touch()
    assert [end_of(gke, ref) for ref in refs] == ["CANCELLED", "FAILED", "CANCELLED", "SUCCEEDED"]
    assert 2 not in began(tmp_path)


def test_a_job_that_was_taken_away_is_tried_again_and_no_other_is(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    specs = gated(gke, 3, tmp_path, retries=2)
    refs = gke.backend.submit_many(specs)
    until(lambda: began(tmp_path) == [0, 1, 2])
    (job,) = jobs(gke.room)
    (taken,) = [pod for pod in gke.room.pods(job["metadata"]["name"]) if "-2-" in pod["metadata"]["name"]]
    (tmp_path / "began-2").unlink()
    healed.disrupt(taken["metadata"]["name"], "shutdown", namespace=gke.room.namespace)
    until((tmp_path / "began-2").exists)
    (tmp_path / "gate").touch()
    assert [end_of(gke, ref) for ref in refs] == ["SUCCEEDED", "FAILED", "SUCCEEDED"]
    starts = [[event.kind for event in gke.backend.events(ref)].count("job_started") for ref in refs]
    assert starts == [1, 1, 2]
    assert gke.backend.status(refs[1]).reason == "exited with code 1"
    assert "==> " in gke.log_of(refs[2])


def test_an_array_goes_when_the_last_of_its_jobs_is_removed(gke: Gke, tmp_path: Path) -> None:
    refs = gke.backend.submit_many(gated(gke, 3, tmp_path), max_concurrent=1)
    until(lambda: began(tmp_path) == [0])
    # First the one that waits: it would begin when the other ends.
    for ref in (refs[1], refs[0]):
        gke.backend.cleanup(ref)
        gke.backend.cleanup(ref)
        assert gke.backend.status(ref).status is JobStatus.NOT_FOUND
        assert list(gke.backend.events(ref)) == []
        assert list(gke.backend.logs(ref)) == []
    assert len(jobs(gke.room)) == 1
    (tmp_path / "gate").touch()
    assert end_of(gke, refs[2]) is JobStatus.SUCCEEDED
    gke.backend.cleanup(refs[2])
    until(lambda: jobs(gke.room) == [])
    assert 1 not in began(tmp_path)


def test_ten_thousand_jobs_are_one_create(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    (one,) = batch(gke, 1, lambda number: number)
    specs = [
        attrs.evolve(
            one,
            job_id=f"job-{number:08x}",
            payload=attrs.evolve(one.payload, url=one.payload.url.replace("/0.pkl", f"/{number}.pkl")),
            result_url=one.result_url.replace("/0-1/", f"/{number}-1/"),
            job_url=one.job_url.replace("/0-1", f"/{number}-1"),
            output_dir=f"file://{tmp_path}/outputs",
        )
        for number in range(10_000)
    ]
    # None of them starts: that is not what is asked here.
    healed.fail_pods("quota")
    before = len(healed.requests(path=f"namespaces/{gke.room.namespace}/"))
    refs = gke.backend.submit_many(specs, max_concurrent=1)
    assert len({(ref.details["array"], ref.details["index"]) for ref in refs}) == 10_000
    assert len(healed.requests(path=f"namespaces/{gke.room.namespace}/")) == before + 2
    assert gke.backend.status(refs[9_999]).status is JobStatus.PENDING
    (job,) = jobs(gke.room)
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (10_000, 1)


@pytest.mark.parametrize("retries", [0, 1])
def test_map_runs_a_batch_as_an_array(tmp_path: Path, room: Room, kubeconfig: Path, retries: int) -> None:
    project = Project(tmp_path)
    project.write("pyproject.toml", '[project]\nname = "mine"\nversion = "0"\ndependencies = []\n')
    project.write(
        "train.py",
        """
        import kinetic, pathlib

        @kinetic.run(accelerator="cpu", container_image="prebuilt")
        def square(x, folder):
            path = pathlib.Path(folder, f"seen-{x}")
            first = not path.exists()
            path.touch()
            if x == 2 and first:
                raise LookupError(x)
            return x * x
        """,
    )
    environ = {
        "KINETIC_BACKEND": "gke",
        "KINETIC_NAMESPACE": room.namespace,
        "KINETIC_STORAGE": f"file://{tmp_path}/store",
        "KUBECONFIG": str(kubeconfig),
    }
    code = f"""
        import json, kinetic, train
        handle = kinetic.map(train.square, [(x, {str(tmp_path)!r}) for x in range(5)], retries={retries})
        values = handle.results(timeout=60, return_exceptions=True)
        print(json.dumps([repr(value) for value in values]))
    """
    ended = project.run(textwrap.dedent(code), environ=environ)
    failed = "4" if retries else "LookupError(2)"
    assert ended.said == ["0", "1", failed, "9", "16"]
