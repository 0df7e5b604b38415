"""Preflight: everything that would keep a job from running, in one answer, before anything is uploaded."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinetic_core.findings import Finding, Severity
from kinetic_core.model.job import JobStatus
from kinetic_core.model.request import RunOptions, RunRequest, Surroundings
from kinetic_gke.cluster.preflight import FOR_ARRAYS, FOR_DEBUG, FOR_HOSTS, FOR_SECRETS, NEEDED, Permission
from tests.fakes.kube.cluster import ROOT, Cluster
from tests.fakes.kube.waiting import Room
from tests.system.gke.conftest import WAIT_S, Gke, gke_at

PAGE = ROOT / "docs/how-to/run-on-a-cluster.md"


def asked(gke: Gke, **options: Any) -> list[Finding]:
    """Return what preflight finds."""
    wanted = {"accelerator": "cpu", "container_image": "prebuilt", "namespace": gke.room.namespace, **options}
    request = RunRequest(
        job_id="job-0a1b2c3d",
        function=print,
        options=RunOptions(**wanted),
        name="print",
        surroundings=Surroundings(environ={}, home=Path("/"), cwd=Path("/"), sys_path=()),
    )
    return list(gke.backend.preflight(request))


def findings(gke: Gke, **options: Any) -> dict[str, Finding]:
    """Return the same by code."""
    return {finding.code: finding for finding in asked(gke, **options)}


def documented_role() -> dict[str, Any]:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    role: dict[str, Any] = yaml.safe_load(text)
    return role


def admit(cluster: Cluster, room: Room, user: str, role: dict[str, Any]) -> None:
    """Give somebody a role in the room."""
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{room.namespace}"
    cluster.call("POST", f"{path}/roles", role)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "kinetic"},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"kind": "Role", "name": "kinetic", "apiGroup": "rbac.authorization.k8s.io"},
    }
    cluster.call("POST", f"{path}/rolebindings", binding)


@pytest.fixture
def ann(healed: Cluster, gke: Gke, tmp_path: Path) -> Gke:
    """Somebody who may do nothing yet."""
    return gke_at(gke.room, healed.kubeconfig(tmp_path / "ann.json", user="ann"), tmp_path / "ann")


def test_where_all_is_well_nothing_is_found_and_the_cluster_is_not_asked_again_at_once(
    cluster: Cluster, gke: Gke
) -> None:
    assert findings(gke) == {}
    before = questions(cluster)
    assert findings(gke) == {}
    assert questions(cluster) == before


def questions(cluster: Cluster) -> int:
    """Count requests, but for watches and logs: one of a test before this may count only now, when it has ended."""
    return len([one for one in cluster.requests() if "watch=" not in one["path"] and "/log" not in one["path"]])


def test_the_role_of_the_documentation_is_all_that_a_job_needs(healed: Cluster, ann: Gke) -> None:
    admit(healed, ann.room, "ann", documented_role())
    assert findings(ann, secrets=("TOKEN",)) == {}
    spec = ann.job(lambda: 7, hidden={"TOKEN": "x"})
    ref = ann.backend.submit(spec)
    list(ann.backend.events(ref, timeout_s=WAIT_S))
    assert ann.backend.status(ref).status is JobStatus.SUCCEEDED
    assert ann.log_of(ref) != ""
    assert list(ann.backend.find()) == []
    ann.backend.cleanup(ref)
    second = ann.backend.submit(ann.job(lambda: 8))
    ann.backend.cancel(second)
    assert ann.backend.status(second).status is JobStatus.CANCELLED
    # He need not be allowed to look at the namespace itself.
    (looked,) = healed.requests(user="ann", status=403, path=ann.room.namespace)
    assert looked["path"] == f"/api/v1/namespaces/{ann.room.namespace}"


def test_the_role_of_the_documentation_allows_nothing_more() -> None:
    allowed = {
        Permission(verb, resource, group)
        for rule in documented_role()["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    # Of an upgrade by GET, servers before 1.35 ask for the other verb.
    older = Permission("get", FOR_DEBUG.resource)
    assert allowed == {*NEEDED, FOR_SECRETS, FOR_HOSTS, FOR_DEBUG, older, *FOR_ARRAYS}


def test_who_may_not_forward_ports_learns_it_before_a_job_is_debugged(healed: Cluster, ann: Gke) -> None:
    role = documented_role()
    role["rules"] = [rule for rule in role["rules"] if rule["resources"] != ["pods/portforward"]]
    admit(healed, ann.room, "ann", role)
    assert asked(ann) == []
    (found,) = asked(ann, debug=True)
    assert "you may not create pods/portforward" in found.message


def test_every_missing_permission_is_named_with_the_command_that_shows_it(healed: Cluster, ann: Gke) -> None:
    role = documented_role()
    role["rules"] = [rule for rule in role["rules"] if rule["resources"] != ["pods/log"]]
    role["rules"][0]["verbs"].remove("delete")
    admit(healed, ann.room, "ann", role)
    found = asked(ann)
    assert [finding.code for finding in found] == ["permission_missing"] * 2
    assert [finding.severity for finding in found] == [Severity.ERROR] * 2
    told = " ".join(f"{finding.message} {finding.remedy}" for finding in found)
    assert f"you may not delete jobs.batch in the namespace '{ann.room.namespace}'" in told
    assert f"kubectl auth can-i get pods --subresource=log --namespace {ann.room.namespace}" in told


def test_all_problems_come_in_one_answer(gke: Gke, tmp_path: Path) -> None:
    site = gke_at(gke.room, gke.kubeconfig, tmp_path / "site", KINETIC_GKE_SERVICE_ACCOUNT="trainer")
    found = findings(
        site,
        container_image="bundled",
        labels={"job-id": "x"},
        file_mounts={"/a": "b"},
        storage="memory://x",
    )
    assert set(found) == {
        "image_unusable",
        "labels_unusable",
        "mounts_unsupported",
        "store_process_local",
        "service_account_absent",
    }
    assert "kubectl create serviceaccount trainer" in found["service_account_absent"].remedy
    gke.room.core.create_namespaced_service_account(gke.room.namespace, {"metadata": {"name": "trainer"}})
    assert findings(site) == {}


def test_a_missing_namespace_says_how_to_create_it(gke: Gke) -> None:
    found = findings(gke, namespace="nowhere")
    assert "kubectl create namespace nowhere" in found["namespace_absent"].message


def test_an_accelerator_that_does_not_exist_is_told_without_asking(gke: Gke) -> None:
    assert set(findings(gke, accelerator="l4x3")) == {"accelerator_unknown"}


def test_a_cluster_without_such_nodes_is_a_warning_and_with_them_nothing(gke: Gke) -> None:
    found = findings(gke, accelerator="l4")
    assert found["nodes_absent"].severity is Severity.WARNING
    assert "no node has cloud.google.com/gke-accelerator=nvidia-l4 now" in found["nodes_absent"].message
    labels = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}
    gke.room.core.create_node({"metadata": {"name": "with-t4", "labels": labels}})
    try:
        assert findings(gke, accelerator="t4") == {}
    finally:
        gke.room.core.delete_node("with-t4")


def test_who_may_not_list_nodes_is_told_that_nobody_knows(healed: Cluster, ann: Gke) -> None:
    admit(healed, ann.room, "ann", documented_role())
    found = findings(ann, accelerator="l4")
    assert [(one.code, one.severity) for one in found.values()] == [("nodes_unknown", Severity.WARNING)]


def test_a_cluster_that_cannot_be_reached_says_so(gke: Gke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetic_gke.cluster.client._FIRST_PAUSE_S", 0.001)
    path = tmp_path / "gone.json"
    path.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:9", gke.kubeconfig.read_text()))
    found = findings(gke_at(gke.room, path, tmp_path / "gone"))
    assert "it cannot be reached" in found["cluster_unusable"].message
    assert "look at network" in found["cluster_unusable"].message


@pytest.mark.parametrize(
    ("environ", "clue"),
    [
        ({"KINETIC_GKE_CONTEXT": "other"}, "there is no context 'other' in"),
        ({"KUBECONFIG": "/nowhere/config"}, "no cluster is named: set KINETIC_PROJECT"),
    ],
)
def test_a_cluster_that_nobody_knows_says_what_to_set(
    gke: Gke, tmp_path: Path, environ: dict[str, str], clue: str
) -> None:
    kubeconfig = Path(environ.pop("KUBECONFIG", str(gke.kubeconfig)))
    found = findings(gke_at(gke.room, kubeconfig, tmp_path / "lost", **environ))
    assert clue in found["cluster_unknown"].message
