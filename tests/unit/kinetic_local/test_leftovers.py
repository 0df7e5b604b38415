"""What killed processes left behind goes with the next submission, and nothing else does."""

import os
import shutil
import signal
from pathlib import Path

from kinetic_local.leftovers import sweep_parts
from kinetic_local.places import Places
from kinetic_local.pod import read_events
from tests.fakes.scripted_runner import LINGER, ScriptedPod, is_running, wait_for_end, wait_until

NOW_S = 2_000_000_000.0
DAY_S = 86_400.0
PART = ".kinetic-part-" + 24 * "0"


def old(path: Path, age_s: float = 2 * DAY_S) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (NOW_S - age_s, NOW_S - age_s))
    return path


def test_a_submission_removes_the_workspace_of_a_supervisor_that_was_killed(pod: ScriptedPod) -> None:
    backend = pod.open()
    killed = pod.job(LINGER)
    backend.submit(killed)
    pod.wait_until_running(killed)
    wait_until(lambda: len(read_events(str(pod.pod_of(killed)))) > 1)
    submitted, started = (event["details"]["pid"] for event in read_events(str(pod.pod_of(killed))))
    os.kill(submitted, signal.SIGKILL)
    wait_until(lambda: not is_running(started))
    # Not even the pod is left to tell of it.
    shutil.rmtree(pod.pod_of(killed))
    (left,) = pod.temporary.iterdir()
    other = pod.temporary / "kinetic-0123456789abcdef-1"
    other.mkdir()
    wait_for_end(backend, backend.submit(pod.job("", job_id="job-00000002")))
    assert not left.exists()
    other.rmdir()


def test_a_submission_leaves_living_jobs_alone(pod: ScriptedPod) -> None:
    backend = pod.open(KINETIC_LOCAL_JOBS="2", grace_s=0.1)
    living = pod.job(LINGER)
    ref = backend.submit(living)
    pod.wait_until_running(living)
    (workspace,) = pod.temporary.iterdir()
    wait_for_end(backend, backend.submit(pod.job("", job_id="job-00000002")))
    assert workspace.exists()
    assert [found.to_json() for found in backend.find()] == [ref.to_json()]
    backend.cancel(ref)


def test_a_submission_removes_old_part_files_of_its_store(pod: ScriptedPod) -> None:
    part = pod.folder / "store/ann-1/train-1" / PART
    part.parent.mkdir(parents=True)
    part.touch()
    os.utime(part, (1, 1))
    backend = pod.open()
    wait_for_end(backend, backend.submit(pod.job("", storage=pod.store_url)))
    assert not part.exists()


def test_only_old_part_files_are_removed(tmp_path: Path) -> None:
    store = tmp_path / "store"
    gone = [old(store / "cache" / PART), old(store / PART), old(store / "ann/job" / PART)]
    kept = [
        old(store / "young" / PART, age_s=DAY_S - 1),
        old(store / "ann/job/payload.pkl"),
        old(store / "ann/.kinetic-part-of-mine"),
        old(store / "outputs/job-1" / PART),
        old(tmp_path / "elsewhere" / PART),
    ]
    (store / "cache/linked").symlink_to(tmp_path / "elsewhere")
    assert sweep_parts(store, Places(home=tmp_path / "home"), now_s=NOW_S) == len(gone)
    assert [path for path in gone if path.exists()] == []
    assert [path for path in kept if not path.exists()] == []


def test_a_folder_that_was_never_given_its_name_is_removed_when_it_is_empty(tmp_path: Path) -> None:
    empty, full = tmp_path / PART, tmp_path / PART.replace("0", "1")
    empty.mkdir()
    old(full / "file")
    for path in (empty, full):
        os.utime(path, (1, 1))
    assert sweep_parts(tmp_path, Places(home=tmp_path), now_s=NOW_S) == 1
    assert [empty.exists(), full.exists()] == [False, True]


def test_a_store_is_looked_through_once_a_day(tmp_path: Path) -> None:
    places, store = Places(home=tmp_path / "home"), tmp_path / "store"
    sweep_parts(store, places, now_s=NOW_S)
    (stamp,) = places.state.iterdir()
    os.utime(stamp, (NOW_S, NOW_S))
    old(store / PART)
    assert sweep_parts(store, places, now_s=NOW_S + DAY_S - 1) == 0
    assert sweep_parts(store, places, now_s=NOW_S + DAY_S) == 1
