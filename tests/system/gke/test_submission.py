"""Submission: one job, whatever becomes of requests and answers; and one sentence where it cannot be."""

import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from kinetic.jobs.lastwords import last_words
from kinetic_core.errors import ConfigError, SubmissionError
from kinetic_core.model.job import JobSpec, JobState, JobStatus
from kinetic_core.wire.reference import Reference
from kinetic_gke.backend import GkeBackend
from kinetic_gke.cluster.refusal import ClusterError
from kinetic_gke.cluster.sharing import close_clusters
from kinetic_gke.manifest.names import job_name
from tests.fakes.kube.cluster import Cluster, running_cluster
from tests.fakes.kube.objects import name_of
from tests.fakes.kube.waiting import Room, until
from tests.system.gke.conftest import WAIT_S, Gke, gke_at

# Of a server that counts, where others make things at the same time.
CONFLICT = (
    'Operation cannot be fulfilled on resourcequotas "all": the object has been modified; please apply your changes to '
    "the latest version and try again"
)


@pytest.mark.parametrize(
    "fault",
    [
        {"lose_reply": True, "times": 1},
        {"drop": True, "times": 1},
        {"status": 500, "times": 2},
        {"status": 429, "retry_after_s": 1, "times": 1},
        {"status": 504, "times": 1},
        {"status": 409, "message": CONFLICT, "times": 2},
    ],
    ids=["lost-reply", "dropped", "500", "429", "504", "409"],
)
def test_an_uncertain_create_is_one_job(healed: Cluster, gke: Gke, fault: dict[str, Any]) -> None:
    healed.fail_requests(method="POST", path=f"{gke.room.namespace}/jobs", **fault)
    spec = gke.job(lambda: 7)
    assert gke.run(spec).status is JobStatus.SUCCEEDED
    assert gke.value(spec) == 7
    assert len(gke.room.plain(gke.room.batch.list_namespaced_job(gke.room.namespace))["items"]) == 1


def test_a_secret_that_two_wanted_to_count_at_once_is_made_all_the_same(healed: Cluster, gke: Gke) -> None:
    healed.fail_requests(method="POST", path=f"{gke.room.namespace}/secrets", status=409, message=CONFLICT, times=1)
    gke.backend.submit(gke.job(lambda: 7, hidden={"TOKEN": "s3cr3t"}))
    assert len(gke.room.plain(gke.room.core.list_namespaced_secret(gke.room.namespace))["items"]) == 1


def test_another_jobs_name_is_not_taken_for_ours(gke: Gke) -> None:
    spec = gke.job(lambda: 7)
    gke.backend.submit(spec)
    with pytest.raises(SubmissionError, match="is another's: its artifacts lie at 'file://"):
        gke.backend.submit(attrs.evolve(spec, job_url="file:///elsewhere"))


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (
            {"status": 403, "message": 'jobs.batch "x" is forbidden: exceeded quota: count, requested: count/jobs=1'},
            "the namespace's quota is used up",
        ),
        (
            {"status": 403, "message": 'admission webhook "p.example.com" denied the request: no'},
            'the cluster\'s own rules forbid it (admission webhook "p.example.com" denied the request: no)',
        ),
        (
            {"status": 400, "message": 'admission webhook "p.example.com" denied the request: no'},
            'the cluster\'s own rules forbid it (admission webhook "p.example.com" denied the request: no)',
        ),
        (
            {"status": 403, "message": 'pods "x" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi'},
            "the namespace's limits do not allow what the job asks for",
        ),
        (
            {
                "status": 403,
                "message": 'jobs.batch "x" is forbidden: unable to create new content in namespace ours because it is '
                "being terminated",
            },
            "the namespace is being deleted",
        ),
        (
            {
                "status": 422,
                "message": 'Job.batch "x" is invalid: spec.template: Invalid value: 7',
                "reason": "Invalid",
            },
            'Job.batch "x" is invalid: spec.template: Invalid value: 7 (422)',
        ),
    ],
    ids=["quota", "policy", "policy-400", "limits", "ending", "invalid"],
)
def test_a_refusal_is_one_readable_sentence(healed: Cluster, gke: Gke, fault: dict[str, Any], sentence: str) -> None:
    healed.fail_requests(method="POST", path=f"{gke.room.namespace}/jobs", **fault)
    with pytest.raises(SubmissionError) as raised:
        gke.backend.submit(gke.job(lambda: 7))
    assert sentence in str(raised.value)
    assert str(raised.value).startswith("the cluster 'test-")
    assert "did not create the Job: " in str(raised.value)


def test_a_webhook_that_does_not_answer_is_named(healed: Cluster, gke: Gke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetic_gke.cluster.client._FIRST_PAUSE_S", 0.01)
    message = 'Internal error occurred: failed calling webhook "x.example.com": connection refused'
    healed.fail_requests(method="POST", path=f"{gke.room.namespace}/jobs", status=500, message=message)
    with pytest.raises(
        SubmissionError, match=r"an admission webhook of the cluster does not answer \(.*x\.example\.com"
    ):
        gke.backend.submit(gke.job(lambda: 7))


def test_who_may_not_create_jobs_is_told_what_he_may_not_and_how_to_see_it(
    healed: Cluster, gke: Gke, tmp_path: Path
) -> None:
    ann = gke_at(gke.room, healed.kubeconfig(tmp_path / "ann.json", user="ann"), tmp_path / "ann")
    with pytest.raises(SubmissionError) as raised:
        ann.backend.submit(ann.job(lambda: 7))
    told = str(raised.value)
    assert f"'ann' may not create jobs.batch in the namespace '{gke.room.namespace}'" in told
    assert f"kubectl auth can-i create jobs.batch --namespace {gke.room.namespace}" in told


def test_a_missing_namespace_says_how_to_create_it(gke: Gke) -> None:
    with pytest.raises(SubmissionError, match="there is no namespace 'nowhere'; create it with kubectl create"):
        gke.backend.submit(gke.job(lambda: 7, namespace="nowhere"))


def test_a_secret_that_cannot_be_made_leaves_no_job_that_waits_for_it(healed: Cluster, gke: Gke) -> None:
    healed.fail_requests(method="POST", path=f"{gke.room.namespace}/secrets", status=403, message="forbidden: no")
    with pytest.raises(SubmissionError, match="create the Secret of the job: it is forbidden"):
        gke.backend.submit(gke.job(lambda: 7, hidden={"TOKEN": "x"}))
    assert gke.room.plain(gke.room.batch.list_namespaced_job(gke.room.namespace))["items"] == []


def test_two_clusters_in_one_process_never_mix(gke: Gke, tmp_path: Path) -> None:
    with running_cluster() as second:
        path = second.kubeconfig(tmp_path / "second.json")
        other = gke_at(gke.room, path, tmp_path / "other", namespace="default")
        specs = [gke.job(lambda: 1), gke.job(lambda: 2, namespace="default")]
        here, there = gke.backend.submit(specs[0]), other.backend.submit(specs[1])
        assert here.details["context"] != there.details["context"]
        for one, ref in ((gke, here), (other, there)):
            list(one.backend.events(ref, timeout_s=WAIT_S))
            assert one.backend.status(ref).status is JobStatus.SUCCEEDED
        both = gke_at(gke.room, Path(f"{gke.kubeconfig}:{path}"), tmp_path / "both")
        assert {both.backend.status(ref).status for ref in (here, there)} == {JobStatus.SUCCEEDED}
        with pytest.raises(ConfigError, match=r"there is no context .* known are"):
            gke.backend.status(there)
        both.backend.cleanup(there)
        assert both.backend.status(there).status is JobStatus.NOT_FOUND
        assert both.backend.status(here).status is JobStatus.SUCCEEDED


def test_cancelled_is_what_every_process_sees(gke: Gke, tmp_path: Path) -> None:
    def linger(path: str) -> None:
        import pathlib
        import time

        pathlib.Path(path).touch()
        time.sleep(600)

    ref = gke.backend.submit(gke.job(linger, str(tmp_path / "told")))
    until((tmp_path / "told").exists)
    gke.backend.cancel(ref)
    assert gke.backend.status(ref).status is JobStatus.CANCELLED
    gke.room.finished(job_name(ref.job_id))
    later = gke_at(gke.room, gke.kubeconfig, tmp_path / "later")
    assert (later.backend.status(ref).status, later.backend.status(ref).reason) == (JobStatus.CANCELLED, "cancelled")
    assert list(later.backend.events(ref))[-1].status is JobStatus.CANCELLED


def test_a_cancelled_job_that_comes_to_its_end_all_the_same_stays_cancelled(gke: Gke, tmp_path: Path) -> None:
    def insist(path: str) -> int:
        import pathlib
        import signal
        import time

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pathlib.Path(path).touch()
        while pathlib.Path(path).exists():
            time.sleep(0.01)
        return 7

    ref = gke.backend.submit(gke.job(insist, str(tmp_path / "running")))
    until((tmp_path / "running").exists)
    gke.backend.cancel(ref)
    (tmp_path / "running").unlink()
    gke.room.finished(job_name(ref.job_id))
    assert gke.backend.status(ref).status is JobStatus.CANCELLED
    assert list(gke.backend.events(ref))[-1].status is JobStatus.CANCELLED


def test_a_job_in_a_queue_says_so_runs_when_it_is_admitted_and_can_be_cancelled(gke: Gke, room: Room) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "research"}
    admitted, dropped = gke.job(lambda: 7, labels=labels), gke.job(lambda: 8, labels=labels)
    first, second = gke.backend.submit(admitted), gke.backend.submit(dropped)
    state = gke.backend.status(first)
    assert (state.status, state.reason) == (JobStatus.PENDING, "waiting in the queue 'research'")
    room.batch.patch_namespaced_job(job_name(first.job_id), room.namespace, {"spec": {"suspend": False}})
    list(gke.backend.events(first, timeout_s=WAIT_S))
    assert gke.value(admitted) == 7
    gke.backend.cancel(second)
    assert gke.backend.status(second).status is JobStatus.CANCELLED
    assert room.finished(job_name(second.job_id))["status"].get("failed") is None
    assert room.pods(job_name(second.job_id)) == []
    assert gke.log_of(second) == ""


def test_a_sites_plugins_patch_the_pods_and_learn_no_secret(gke: Gke) -> None:
    seen = []

    def collect(hook: str, *, pod: Any, job: JobSpec) -> dict[str, Any]:
        seen.append((hook, dict(job.secrets), pod["spec"]["restartPolicy"]))
        return {"acme": {"metadata": {"labels": {"team": "vision"}}}}

    backend = GkeBackend(attrs.evolve(gke.backend._context, collect=collect))
    ref = backend.submit(gke.job(lambda: 7, hidden={"TOKEN": "s3cr3t"}))
    assert seen == [("kinetic_gke_patch_pod", {"TOKEN": ""}, "Never")]
    assert gke.room.pod(job_name(ref.job_id))["metadata"]["labels"]["team"] == "vision"


@pytest.fixture
def slice_of_four(room: Room) -> Iterator[None]:
    """Add the nodes of a TPU slice."""
    labels = {"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice", "cloud.google.com/gke-tpu-topology": "4x4"}
    # A node's capacity is its kubelet's to tell; what a test makes has what it says.
    capacity = {"cpu": "100", "memory": "400Gi", "pods": "10", "google.com/tpu": "8"}
    for number in range(4):
        node = {"metadata": {"name": f"{room.namespace}-{number}", "labels": labels}, "status": {"capacity": capacity}}
        room.core.create_node({**node, "status": {"capacity": capacity, "allocatable": capacity}})
    yield
    for number in range(4):
        room.core.delete_node(f"{room.namespace}-{number}")


@pytest.mark.usefixtures("slice_of_four")
def test_a_slice_of_several_hosts_is_one_job_whose_hosts_find_one_another(gke: Gke, room: Room) -> None:
    def where() -> tuple[str, str]:
        import os

        print(f"host {os.environ['JOB_COMPLETION_INDEX']}")
        return os.environ["JOB_COMPLETION_INDEX"], os.environ["KINETIC_NUM_HOSTS"]

    spec = gke.job(where)
    spec = attrs.evolve(spec, options=attrs.evolve(spec.options, accelerator="v6e-16"))
    assert gke.run(spec) == JobState(status=JobStatus.SUCCEEDED, exit_code=0)
    assert gke.value(spec) == ("0", "4")
    name = job_name(spec.job_id)
    assert len(room.pods(name)) == 4
    assert room.plain(room.core.read_namespaced_service(name, room.namespace))["spec"]["clusterIP"] == "None"
    ref = gke.backend.submit(spec)
    own = [line for line in gke.log_of(ref).splitlines() if line.startswith("host ")]
    assert own == ["host 0"]
    for follow in (False, True):
        every = "".join(gke.backend.host_logs(ref, follow=follow)).splitlines()
        assert sorted(line for line in every if "] host " in line) == [f"[host {n}] host {n}" for n in range(4)]
        assert all(line.startswith("[host ") for line in every)
    assert "host 3\n" in "".join(gke.backend.host_logs(ref, host=3, tail=2))
    with pytest.raises(ConfigError, match=r"has no host 4: it has 4 hosts, 0 to 3"):
        gke.backend.host_logs(ref, host=4)


@pytest.mark.usefixtures("slice_of_four")
def test_of_several_hosts_the_lowest_that_failed_by_itself_is_named_and_its_log_is_had(gke: Gke) -> None:
    def fail() -> None:
        import os
        import time

        host = int(os.environ["JOB_COMPLETION_INDEX"])
        if host == 2:
            print("the end of host 2", flush=True)
            os._exit(3)
        time.sleep(600)

    spec = gke.job(fail)
    spec = attrs.evolve(spec, options=attrs.evolve(spec.options, accelerator="v6e-16"))
    state = gke.run(spec)
    assert (state.status, state.exit_code, state.failed_host) == (JobStatus.FAILED, 3, 2)
    assert state.reason == "host 2: exited with code 3"
    ref = gke.backend.submit(spec)
    assert "the end of host 2" in "".join(gke.backend.host_logs(ref, host=2, tail=5))


@pytest.mark.usefixtures("slice_of_four")
def test_every_host_that_failed_by_itself_is_told_of_also_when_its_log_went_with_its_node(
    healed: Cluster, gke: Gke
) -> None:
    spec = gke.job(lambda: time.sleep(600))
    spec = attrs.evolve(spec, options=attrs.evolve(spec.options, accelerator="v6e-16"))
    ref = gke.backend.submit(spec)
    until(lambda: [pod["status"]["phase"] for pod in gke.room.pods(job_name(ref.job_id))] == ["Running"] * 4)
    pods = gke.room.pods(job_name(ref.job_id))
    hosts = {int(name_of(pod).split("-")[-2]): pod["spec"]["nodeName"] for pod in pods}
    node = max(hosts.values(), key=list(hosts.values()).count)
    lost = sorted(host for host in hosts if hosts[host] == node)
    gke.backend.status(ref)
    gke.backend.status(ref)  # the second look is the watch's, which knows of pods that are gone
    healed.act("lose-node", node=node)
    list(gke.backend.events(ref, timeout_s=WAIT_S))
    state = gke.backend.status(ref)
    assert len(lost) > 1
    assert [state.failed_host, *state.also_failed] == lost
    told = last_words(ref, state, gke.backend).splitlines()
    assert [line.partition("kinetic-job")[0] for line in told] == [f"[host {host}] kinetic: the pod " for host in lost]
    assert all(line.endswith(" is gone, and its log with it") for line in told)


def test_a_job_that_its_time_to_live_has_taken_is_not_found_and_its_result_stays(gke: Gke, tmp_path: Path) -> None:
    brief = gke_at(gke.room, gke.kubeconfig, tmp_path / "brief", KINETIC_GKE_TTL="1")
    spec = brief.job(lambda: 7)
    ref = brief.backend.submit(spec)
    assert list(brief.backend.events(ref, timeout_s=WAIT_S))[-1].status is JobStatus.SUCCEEDED
    until(lambda: brief.backend.status(ref).status is JobStatus.NOT_FOUND)
    assert brief.value(spec) == 7


def test_a_mounted_bucket_is_the_functions_to_read(cluster: Cluster, gke: Gke) -> None:
    folder = cluster.buckets / "sets" / "images" / "2026"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_text("pixels")

    def read() -> str:
        import os
        import pathlib

        return pathlib.Path(os.environ["WHERE"], "one.txt").read_text()

    # The cluster puts its folders where a mount path stands in a variable.
    spec = gke.job(read, hidden={"WHERE": "/data/images"})
    reference = Reference(uri="gs://sets/images/2026/", is_dir=True, mount_path="/data/images", fuse=True)
    spec = attrs.evolve(spec, volumes=(reference.to_dict(),))
    assert gke.run(spec).status is JobStatus.SUCCEEDED
    assert gke.value(spec) == "pixels"
    pod = gke.room.pod(job_name(spec.job_id))
    assert pod["metadata"]["annotations"]["gke-gcsfuse/volumes"] == "true"


def test_a_single_object_is_mounted_with_the_directory_it_lies_in(cluster: Cluster, gke: Gke) -> None:
    folder = cluster.buckets / "weights" / "llm" / "7b"
    folder.mkdir(parents=True)
    (folder / "model.bin").write_text("numbers")

    def read() -> str:
        import os
        import pathlib

        return pathlib.Path(os.environ["WHERE"], "model.bin").read_text()

    spec = gke.job(read, hidden={"WHERE": "/data/llm"})
    reference = Reference(
        uri="gs://weights/llm/7b/model.bin", is_dir=False, mount_path="/data/llm/model.bin", fuse=True
    )
    spec = attrs.evolve(spec, volumes=(reference.to_dict(),))
    assert gke.run(spec).status is JobStatus.SUCCEEDED
    assert gke.value(spec) == "numbers"


def test_neither_tokens_nor_secrets_are_logged_or_told(healed: Cluster, gke: Gke, tmp_path: Path) -> None:
    token = healed.act("token", user="ann", admin=True)
    ann = gke_at(gke.room, healed.kubeconfig(tmp_path / "ann.json", token=token), tmp_path / "ann")
    told: list[object] = []
    spec = ann.job(lambda: 7, hidden={"TOKEN": "s3cr3t"})
    healed.fail_requests(method="POST", path=f"{gke.room.namespace}/", status=500, times=2)
    ref = ann.backend.submit(spec)
    told += [ref.to_json(), repr(spec), *ann.backend.events(ref, timeout_s=WAIT_S), ann.backend.status(ref)]
    healed.act("revoke", user="ann")
    close_clusters()
    for ask in (ann.backend.status, lambda _: list(ann.backend.find())):
        with pytest.raises(ClusterError) as refused:
            ask(ref)
        told += ["".join(traceback.format_exception(refused.value))]
    told += [ann.log.records, repr(ann.backend)]
    assert ann.log.records != []
    assert token not in str(told)
    assert "s3cr3t" not in str(told)
