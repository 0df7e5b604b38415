"""Waiting is a watch: one for all jobs of a namespace, through all that breaks it, without a busy loop."""

import threading
from pathlib import Path

import pytest

from kinetic_core.model.job import JobEvent, JobRef, JobStatus
from kinetic_gke.cluster.refusal import ClusterError
from kinetic_gke.cluster.sharing import close_clusters
from kinetic_gke.manifest.names import job_name
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.waiting import until
from tests.system.gke.conftest import WAIT_S, Gke, gke_at


def gated(gke: Gke, gate: Path) -> JobRef:
    """Start a job that ends when the gate is there."""

    def wait(path: str) -> None:
        import pathlib
        import time

        while not pathlib.Path(path).exists():
            time.sleep(0.02)

    return gke.backend.submit(gke.job(wait, str(gate)))


class Waiting(threading.Thread):
    """Somebody who waits for a job's end."""

    def __init__(self, gke: Gke, ref: JobRef) -> None:
        super().__init__(daemon=True)
        self.gke, self.ref = gke, ref
        self.events: list[JobEvent] = []
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            for event in self.gke.backend.events(self.ref, timeout_s=WAIT_S):
                self.events.append(event)
        except ClusterError as error:
            self.error = error

    def ended(self) -> list[str]:
        """Return the kinds of the events, once there are no more."""
        self.join(WAIT_S)
        assert not self.is_alive()
        assert self.error is None
        return [event.kind for event in self.events]


LIFE = ["job_submitted", "job_started", "job_ended"]


def watches(cluster: Cluster, gke: Gke) -> list[str]:
    found = cluster.requests(method="GET", path=f"namespaces/{gke.room.namespace}/")
    return [str(one["path"]) for one in found if "watch=" in one["path"]]


def test_one_watch_of_jobs_and_one_of_pods_serve_everybody(cluster: Cluster, gke: Gke, tmp_path: Path) -> None:
    refs = [gated(gke, tmp_path / "gate") for _ in range(6)]
    waiting = [Waiting(gke, ref) for ref in refs]
    other = gke_at(gke.room, gke.kubeconfig, tmp_path / "other")
    waiting += [Waiting(other, ref) for ref in refs]
    until(lambda: all(len(one.events) >= 2 for one in waiting))
    before = len(cluster.requests(path=f"namespaces/{gke.room.namespace}/"))
    for _ in range(20):
        assert {gke.backend.status(ref).status for ref in refs} == {JobStatus.RUNNING}
    assert len(cluster.requests(path=f"namespaces/{gke.room.namespace}/")) == before
    (tmp_path / "gate").touch()
    assert [one.ended() for one in waiting] == [LIFE] * 12
    # What still runs is not among what was answered.
    close_clusters()
    until(lambda: len(watches(cluster, gke)) >= 2)
    assert sorted(path.split("?")[0].rpartition("/")[2] for path in watches(cluster, gke)) == ["jobs", "pods"]


def test_dropped_streams_and_a_forgotten_history_lose_nothing_and_tell_nothing_twice(
    healed: Cluster, gke: Gke, tmp_path: Path
) -> None:
    waiting = Waiting(gke, gated(gke, tmp_path / "gate"))
    until(lambda: len(waiting.events) == 2)
    healed.act("cut-watches")
    healed.act("forget-history")
    healed.act("cut-watches")
    (tmp_path / "gate").touch()
    assert waiting.ended() == LIFE


def test_a_cluster_that_answers_with_errors_is_asked_again_and_seldom(
    healed: Cluster, gke: Gke, tmp_path: Path
) -> None:
    waiting = Waiting(gke, gated(gke, tmp_path / "gate"))
    until(lambda: len(waiting.events) == 2)
    healed.fail_requests(path=f"{gke.room.namespace}/(jobs|pods).*watch=", status=500, times=6)
    healed.act("cut-watches")
    (tmp_path / "gate").touch()
    assert waiting.ended() == LIFE
    assert len([path for path in watches(healed, gke) if "watch=" in path]) <= 12


def test_streams_that_a_proxy_cuts_after_each_event_are_no_busy_loop(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    healed.fail_requests(path=f"{gke.room.namespace}/(jobs|pods).*watch=", cut_after=1)
    waiting = Waiting(gke, gated(gke, tmp_path / "gate"))
    until(lambda: len(waiting.events) == 2)
    (tmp_path / "gate").touch()
    assert waiting.ended() == LIFE
    assert len(watches(healed, gke)) < 40


def test_a_token_that_has_expired_is_read_again_once(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    path = tmp_path / "ann.json"
    healed.kubeconfig(path, token=healed.act("token", user="ann", admin=True))
    ann = gke_at(gke.room, path, tmp_path / "ann")
    ref = gated(ann, tmp_path / "gate")
    waiting = Waiting(ann, ref)
    until(lambda: len(waiting.events) == 2)
    healed.act("revoke", user="ann")
    healed.kubeconfig(path, token=healed.act("token", user="ann", admin=True))
    healed.act("cut-watches")
    (tmp_path / "gate").touch()
    assert waiting.ended() == LIFE
    assert ann.backend.status(ref).status is JobStatus.SUCCEEDED


def test_credentials_that_are_worth_nothing_any_more_say_so(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    path = tmp_path / "bob.json"
    healed.kubeconfig(path, token=healed.act("token", user="bob", admin=True))
    bob = gke_at(gke.room, path, tmp_path / "bob")
    ref = gated(bob, tmp_path / "gate")
    healed.act("revoke", user="bob")
    with pytest.raises(ClusterError, match=r"does not take these credentials \(401\).*log in again"):
        bob.backend.status(ref)
    (tmp_path / "gate").touch()


def test_a_job_that_is_deleted_while_somebody_waits_is_told(gke: Gke, tmp_path: Path) -> None:
    ref = gated(gke, tmp_path / "gate")
    waiting = Waiting(gke, ref)
    until(lambda: len(waiting.events) == 2)
    gke.room.batch.delete_namespaced_job(job_name(ref.job_id), gke.room.namespace, propagation_policy="Background")
    assert waiting.ended() == [*LIFE[:2], "job_removed"]
    assert gke.backend.status(ref).status is JobStatus.NOT_FOUND
    assert "there is no Job 'kinetic-job-" in gke.backend.status(ref).reason


def test_a_cluster_that_is_away_for_long_is_waited_for_and_told_once(
    healed: Cluster, gke: Gke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Minutes, as it were: each failure is one more than a watch bears.
    monkeypatch.setattr("kinetic_gke.cluster.watching._MOST_FAILURES", 0)
    monkeypatch.setattr("kinetic_gke.cluster.client._FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr("kinetic_gke.cluster.patience._FIRST_PAUSE_S", 0.05)
    waiting = Waiting(gke, gated(gke, tmp_path / "gate"))
    other = Waiting(gke, waiting.ref)
    until(lambda: len(waiting.events) == len(other.events) == 2)
    healed.fail_requests(path=f"{gke.room.namespace}/(jobs|pods)", status=503)
    healed.act("cut-watches")
    until(lambda: gke.log.events("warning") != [])
    (tmp_path / "gate").touch()
    healed.heal()
    assert (waiting.ended(), other.ended()) == (LIFE, LIFE)
    assert gke.log.events("warning") == ["cluster_silent"]


def test_who_waits_only_so_long_is_told_that_the_cluster_is_away(
    healed: Cluster, gke: Gke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetic_gke.cluster.watching._MOST_FAILURES", 0)
    monkeypatch.setattr("kinetic_gke.cluster.client._FIRST_PAUSE_S", 0.01)
    ref = gated(gke, tmp_path / "gate")
    assert [event.kind for event in gke.backend.events(ref, timeout_s=0)][:1] == LIFE[:1]
    healed.fail_requests(path=f"{gke.room.namespace}/(jobs|pods)", drop=True)
    close_clusters()
    with pytest.raises(ClusterError, match="cannot be reached"):
        list(gke.backend.events(ref, timeout_s=0.5))
    (tmp_path / "gate").touch()


def test_events_that_nobody_tells_keep_nobody_from_waiting(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    healed.fail_requests(path=f"{gke.room.namespace}/events", status=403)
    healed.fail_pods("mount")
    waiting = Waiting(gke, gated(gke, tmp_path / "gate"))
    until(lambda: healed.requests(path=f"{gke.room.namespace}/events", status=403) != [])
    healed.heal()
    (tmp_path / "gate").touch()
    assert waiting.ended() == LIFE
