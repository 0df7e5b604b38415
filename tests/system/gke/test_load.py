"""Five hundred jobs of one process: one watch, and few questions."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from kinetic_core.model.job import JobRef, JobStatus
from kinetic_gke.cluster.sharing import close_clusters
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.waiting import until
from tests.system.gke.conftest import Gke

JOBS = 500
# What the client's processor spent here, on a busy machine: 7 ms a job, 0.07 of the time in which nothing happens.
MOST_CPU_S_A_JOB = 0.03
MOST_IDLE_SHARE = 0.5
IDLE_S = 3.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_five_hundred_jobs_are_waited_for_by_one_watch(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    # What the pods run is not what is asked here.
    program = tmp_path / "python3"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    healed.bring("", programs=tmp_path)
    healed.fail_pods("unschedulable")
    one = gke.job(lambda: 0)
    specs = [attrs.evolve(one, job_id=f"job-{number:08x}") for number in range(JOBS)]
    with ThreadPoolExecutor(8) as pool:
        refs = list(pool.map(gke.backend.submit, specs))
    kinds: dict[str, list[str]] = {ref.job_id: [] for ref in refs}
    everybody = [threading.Thread(target=follow, args=(gke, ref, kinds[ref.job_id]), daemon=True) for ref in refs]
    asked_before = len(healed.requests(path=f"namespaces/{gke.room.namespace}/"))
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    for one_of_them in everybody:
        one_of_them.start()
    until(lambda: all(len(seen) >= 2 for seen in kinds.values()))
    assert idle_share() <= MOST_IDLE_SHARE

    healed.heal()
    healed.bring("", programs=tmp_path)
    for one_of_them in everybody:
        one_of_them.join(500)
    assert time.process_time() - began_cpu_s <= JOBS * MOST_CPU_S_A_JOB
    assert {tuple(kind for kind in seen if kind != "job_waiting") for seen in kinds.values()} == {
        ("job_submitted", "job_started", "job_ended")
    }
    assert {gke.backend.status(ref).status for ref in refs} == {JobStatus.SUCCEEDED}
    close_clusters()
    until(lambda: watches(healed, gke) >= 2)
    asked = healed.requests(path=f"namespaces/{gke.room.namespace}/")[asked_before:]
    assert watches(healed, gke) == 2
    by_kind = [str(request["path"]).split("?")[0].rpartition("/")[2] for request in asked]
    # Two lists and two watches; and the pods of a job whose end came before theirs through the other watch.
    assert len([kind for kind in by_kind if kind != "events"]) <= 4 + JOBS
    # Of six kinds, for all jobs at once, and never twice within half a second, however many new jobs wait.
    assert by_kind.count("events") <= 6 * (1 + (time.monotonic() - began_s) / 0.5)


def idle_share() -> float:
    """Return how much of a processor this process takes while every job waits: a busy loop would take one."""
    cpu_s, began_s = time.process_time(), time.monotonic()
    time.sleep(IDLE_S)
    return (time.process_time() - cpu_s) / (time.monotonic() - began_s)


def follow(gke: Gke, ref: JobRef, seen: list[str]) -> None:
    seen.extend(event.kind for event in gke.backend.events(ref, timeout_s=500))


def watches(cluster: Cluster, gke: Gke) -> int:
    found = cluster.requests(method="GET", path=f"namespaces/{gke.room.namespace}/")
    return len([one for one in found if "watch=" in one["path"]])
