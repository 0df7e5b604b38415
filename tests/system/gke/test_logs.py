"""Logs of pods: each line once, whatever happens to the stream; and nothing of it decides how the job ended."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetic_core.model.job import JobRef, JobStatus
from kinetic_gke.manifest.names import job_name
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import name_of
from tests.fakes.kube.waiting import until
from tests.system.gke.conftest import WAIT_S, Gke, gke_at

LINES = [f"häß € {number}\n" for number in range(6)]


def talk(gke: Gke, gate: Path, **options: object) -> JobRef:
    """Start a job that writes its lines in two halves, the second when the gate is there, and no end to the last."""

    def talk(path: str, lines: list[str]) -> None:
        import pathlib
        import time

        for number, line in enumerate(lines):
            while number == len(lines) // 2 and not pathlib.Path(path).exists():
                time.sleep(0.02)
            print(line, end="", flush=True)
        print("last words", end="", flush=True)

    return gke.backend.submit(gke.job(talk, str(gate), LINES, **options))


class Following(threading.Thread):
    """Somebody who follows a log."""

    def __init__(self, pieces: Iterator[str]) -> None:
        super().__init__(daemon=True)
        self._pieces = pieces
        self.text = ""
        self.start()

    def run(self) -> None:
        for piece in self._pieces:
            self.text += piece

    def ended(self) -> str:
        self.join(WAIT_S)
        assert not self.is_alive()
        return self.text


def spoken(text: str) -> str:
    """Return what the function wrote, without what the runner says."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("kinetic:"))


def pod_of(gke: Gke, ref: JobRef) -> str:
    return name_of(gke.room.pod(job_name(ref.job_id), "Running"))


@pytest.mark.parametrize("trouble", ["none", "cut", "torn", "rotated", "errors"])
def test_a_followed_log_has_each_line_once(healed: Cluster, gke: Gke, tmp_path: Path, trouble: str) -> None:
    path = f"{gke.room.namespace}/pods/.*/log"
    if trouble == "cut":
        healed.fail_requests(path=path, cut_after=2, times=3)
    if trouble == "torn":
        healed.fail_requests(path=path, piece=1)
    if trouble == "errors":
        healed.fail_requests(path=path, status=500, times=3)
    ref = talk(gke, tmp_path / "gate")
    following = Following(gke.backend.logs(ref, follow=True))
    until(lambda: LINES[2] in following.text)
    if trouble == "rotated":
        healed.act("rotate-log", namespace=gke.room.namespace, pod=pod_of(gke, ref))
    (tmp_path / "gate").touch()
    assert spoken(following.ended()) == "".join([*LINES, "last words"])
    assert gke.log.events("warning") == []


def test_a_log_goes_on_after_a_cluster_that_was_away_for_long(
    healed: Cluster, gke: Gke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Minutes, as it were.
    monkeypatch.setattr("kinetic_gke.cluster.logs._LONGEST_PAUSE_S", 0.05)
    path = f"{gke.room.namespace}/pods/.*/log"
    ref = talk(gke, tmp_path / "gate")
    pod_of(gke, ref)
    healed.fail_requests(path=path, status=503)
    following = Following(gke.backend.logs(ref, follow=True))
    until(lambda: len(healed.requests(path=f"{gke.room.namespace}/pods/", status=503)) >= 20)
    healed.heal()
    until(lambda: LINES[2] in following.text)
    (tmp_path / "gate").touch()
    assert spoken(following.ended()) == "".join([*LINES, "last words"])
    assert gke.log.events("warning") == []


def test_a_read_that_is_cut_goes_on_where_it_was(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    ref = talk(gke, tmp_path / "gate")
    list(gke.backend.events(ref, timeout_s=WAIT_S))
    healed.fail_requests(path=f"{gke.room.namespace}/pods/.*/log", cut_after=3, times=2)
    assert spoken(gke.log_of(ref)) == "".join([*LINES, "last words"])


def test_a_tail_is_of_lines(gke: Gke, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    ref = talk(gke, tmp_path / "gate")
    list(gke.backend.events(ref, timeout_s=WAIT_S))
    assert "".join(gke.backend.logs(ref, tail=2)) == f"{LINES[-1]}last words"


def test_bytes_that_are_no_text_are_replaced(gke: Gke) -> None:
    def talk() -> None:
        import os

        os.write(1, b"\xff\xfe\n\xe2\x82 half\n")

    ref = gke.backend.submit(gke.job(talk))
    list(gke.backend.events(ref, timeout_s=WAIT_S))
    assert gke.backend.status(ref).status is JobStatus.SUCCEEDED
    for text in (gke.log_of(ref), "".join(gke.backend.logs(ref, follow=True))):
        assert spoken(text) == "\ufffd\ufffd\n\ufffd half\n"


def test_a_log_that_nobody_gives_decides_nothing(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    ref = talk(gke, tmp_path / "gate")
    healed.fail_requests(path=f"{gke.room.namespace}/pods/.*/log", status=403, message="no")
    assert "".join(gke.backend.logs(ref, follow=True)) == ""
    list(gke.backend.events(ref, timeout_s=WAIT_S))
    assert gke.backend.status(ref).status is JobStatus.SUCCEEDED
    assert gke.log_of(ref) == ""
    assert gke.log.events("warning") == ["log_lost", "log_lost"]


def test_a_cluster_that_is_gone_has_no_log_and_raises_nothing(gke: Gke, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    ref = talk(gke, tmp_path / "gate")
    text = gke.kubeconfig.read_text().replace("127.0.0.1:", "127.0.0.1:1")
    path = tmp_path / "gone.json"
    path.write_text(text.replace('"server": "https://127.0.0.1:1', '"server": "https://127.0.0.1:1#'))
    gone = gke_at(gke.room, path, tmp_path / "gone")
    assert list(gone.backend.logs(ref)) == []
    assert gone.log.events("warning") == ["log_lost"]


def test_a_job_that_says_nothing_for_long_keeps_its_log(
    cluster: Cluster, gke: Gke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Minutes, as it were: a stream in which nothing comes is given up, and another one opened.
    monkeypatch.setattr("kinetic_gke.cluster.logs._SILENCE_S", -29.5)
    monkeypatch.setattr("kinetic_gke.cluster.logs._GOOD_STREAM_S", 0.05)
    ref = talk(gke, tmp_path / "gate")
    following = Following(gke.backend.logs(ref, follow=True))
    until(lambda: LINES[2] in following.text)
    path = f"{gke.room.namespace}/pods/{pod_of(gke, ref)}/log"
    until(lambda: len(cluster.requests(method="GET", path=path)) >= 10)
    (tmp_path / "gate").touch()
    assert spoken(following.ended()) == "".join([*LINES, "last words"])
    assert gke.log.events("warning") == []
