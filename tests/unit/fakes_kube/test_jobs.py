"""What Jobs do; these run against any cluster."""

from typing import Any

import pytest

from tests.fakes.kube.bodies import job
from tests.fakes.kube.objects import condition, holds, labels_of, moment, name_of
from tests.fakes.kube.waiting import Room, reason_of, until

INDEX = "import os; i = int(os.environ['JOB_COMPLETION_INDEX'])"


def test_an_indexed_job_runs_each_index_in_a_pod_named_after_it(room: Room) -> None:
    room.create(job("many", f"{INDEX}; print(i)", completionMode="Indexed", completions=4, parallelism=2))
    status = room.finished("many")["status"]
    assert (status["succeeded"], status["completedIndexes"]) == (4, "0-3")
    pods = room.pods("many")
    assert {(name_of(pod)[: len("many-0-")], room.log(name_of(pod))) for pod in pods} == {
        (f"many-{index}-", f"{index}\n") for index in range(4)
    }
    assert {pod["spec"]["hostname"] for pod in pods} == {f"many-{index}" for index in range(4)}


def test_a_failed_index_is_tried_again_on_its_own(room: Room) -> None:
    spec: dict[str, Any] = {
        "completionMode": "Indexed",
        "completions": 3,
        "parallelism": 3,
        "backoffLimitPerIndex": 1,
        "backoffLimit": None,
    }
    room.create(job("each", f"{INDEX}; raise SystemExit(i == 1)", **spec))
    status = room.finished("each")["status"]
    assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "1")
    assert (status["succeeded"], status["failed"]) == (2, 2)
    assert status["conditions"][-1]["reason"] == "FailedIndexes"


def test_too_many_failed_indexes_end_the_job(room: Room) -> None:
    spec: dict[str, Any] = {"completionMode": "Indexed", "completions": 5, "parallelism": 1, "maxFailedIndexes": 1}
    room.create(job("enough", "raise SystemExit(1)", backoffLimitPerIndex=0, backoffLimit=None, **spec))
    found = room.finished("enough")
    assert (reason_of(found), found["status"]["failedIndexes"]) == ("MaxFailedIndexesExceeded", "0,1")


def test_a_failed_pod_is_replaced_until_the_limit(room: Room) -> None:
    room.create(job("again", "raise SystemExit(3)", backoffLimit=1))
    found = room.finished("again")
    assert (reason_of(found), found["status"]["failed"]) == ("BackoffLimitExceeded", 2)
    assert len(room.pods("again")) == 2


def test_a_failure_policy_ends_a_job_at_the_first_exit_code_that_it_names(room: Room) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    room.create(job("fatal", "raise SystemExit(42)", backoffLimit=6, podFailurePolicy={"rules": [rule]}))
    found = room.finished("fatal")
    assert reason_of(found) == "PodFailurePolicy"
    message = f"Container main for pod {room.namespace}/{name_of(room.pod('fatal'))} failed with exit code 42"
    assert message + " matching FailJob rule at index 0" in found["status"]["conditions"][-1]["message"]


def test_a_suspended_job_has_no_pods_until_it_is_resumed(room: Room) -> None:
    room.create(job("later", "print(1)", suspend=True))
    until(lambda: holds(room.job("later"), "Suspended"))
    assert room.pods("later") == []
    assert "startTime" not in room.job("later")["status"]
    room.batch.patch_namespaced_job("later", room.namespace, {"spec": {"suspend": False}})
    found = room.finished("later")
    assert holds(found, "Complete")
    resumed = condition(found, "Suspended")
    assert resumed is not None
    assert (resumed["status"], resumed["reason"]) == ("False", "JobResumed")


def test_a_job_that_is_suspended_while_it_runs_loses_its_pods(room: Room) -> None:
    room.create(job("pause", "import time; time.sleep(600)"))
    room.pod("pause", "Running")
    room.batch.patch_namespaced_job("pause", room.namespace, {"spec": {"suspend": True}})
    until(lambda: not room.pods("pause"))
    found = room.job("pause")
    assert "active" not in found["status"]
    assert holds(found, "Suspended")
    assert "failed" not in found["status"]


def test_a_job_goes_with_its_pods_when_its_time_to_live_is_over(room: Room) -> None:
    room.create(job("short", "print(1)", ttlSecondsAfterFinished=0))
    until(lambda: not _exists(room, "short"))
    until(lambda: not room.pods("short"))


def test_a_restart_policy_on_failure_starts_the_container_again_in_its_pod(room: Room) -> None:
    script = "import os, sys; p = '/work/once'; f = os.path.exists(p); open(p, 'w').close(); print(f); sys.exit(not f)"
    pod = {"restartPolicy": "OnFailure", "volumes": [{"name": "work", "emptyDir": {}}]}
    main = {"volumeMounts": [{"name": "work", "mountPath": "/work"}]}
    room.create(job("twice", script, pod=pod, main=main, backoffLimit=4))
    assert holds(room.finished("twice"), "Complete")
    found = room.pod("twice")
    assert found["status"]["containerStatuses"][0]["restartCount"] == 1
    assert room.log(name_of(found)) == "True\n"


def test_pods_carry_the_labels_and_the_owner_by_which_they_are_found(room: Room) -> None:
    made = room.create(job("mine", "print(1)"))
    found = room.pod("mine")
    uid = made["metadata"]["uid"]
    assert labels_of(found)["batch.kubernetes.io/controller-uid"] == uid
    assert [owner["uid"] for owner in found["metadata"]["ownerReferences"]] == [uid]
    room.finished("mine")


def test_a_deadline_ends_what_runs(room: Room) -> None:
    room.create(job("late", "import time; time.sleep(600)", activeDeadlineSeconds=2))
    found = room.finished("late")
    assert reason_of(found) == "DeadlineExceeded"
    assert [each["type"] for each in found["status"]["conditions"]] == ["FailureTarget", "Failed"]


def test_a_success_policy_ends_a_job_before_all_indexes_did(room: Room) -> None:
    spec: dict[str, Any] = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    script = f"{INDEX}; import time; time.sleep(600 * i)"
    room.create(job("first", script, successPolicy={"rules": [{"succeededIndexes": "0"}]}, **spec))
    found = room.finished("first")
    assert [each["reason"] for each in found["status"]["conditions"]] == ["SuccessPolicy", "SuccessPolicy"]
    assert found["status"]["completedIndexes"] == "0"
    assert moment(found["status"]["completionTime"])


def _exists(room: Room, name: str) -> bool:
    found = room.batch.list_namespaced_job(room.namespace, field_selector=f"metadata.name={name}").items
    return bool(found)


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_job_that_is_deleted_takes_its_running_pods_along(room: Room, policy: str) -> None:
    room.create(job("gone", "import time; time.sleep(600)"))
    room.pod("gone", "Running")
    room.batch.delete_namespaced_job("gone", room.namespace, propagation_policy=policy)
    until(lambda: not room.pods("gone"))
    until(lambda: not _exists(room, "gone"))


def test_a_job_that_is_deleted_with_no_policy_leaves_its_pods_running(room: Room) -> None:
    room.create(job("left", "import time; time.sleep(600)"))
    room.pod("left", "Running")
    room.batch.delete_namespaced_job("left", room.namespace)
    until(lambda: not _exists(room, "left"))
    pod = room.pod("left", "Running")
    assert "ownerReferences" not in pod["metadata"]
    room.core.delete_namespaced_pod(name_of(pod), room.namespace, grace_period_seconds=0)
