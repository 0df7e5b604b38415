"""The ways to a cluster: a kubeconfig's contexts, Google's credentials, a pod's own account."""

import base64
import json
import logging
import os
import re
import threading
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kinetic.jobs.connection import connect
from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobStatus
from kinetic_core.model.request import RunOptions, Surroundings
from kinetic_gke.cluster.access import IN_CLUSTER, Access, choose_access
from kinetic_gke.cluster.refusal import ClusterError
from tests.fakes.kube.certificates import make_context
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.waiting import Room
from tests.system.gke.conftest import Gke, gke_at

OURS = RunOptions(project="acme", zone="us-central1-a", cluster="kinetic-cluster")
NAME = "gke_acme_us-central1-a_kinetic-cluster"


class Google(BaseHTTPRequestHandler):
    """The two calls of Google that are made: a token, and where a cluster is."""

    answers: ClassVar[dict[str, Any]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer()

    def _answer(self) -> None:
        self.asked.append(self.path)
        found = self.answers.get(self.path)
        body = json.dumps(found or {"error": {"message": "Not found: the cluster."}}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def google(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a Google that knows the test cluster by the name that is ours, and somebody who may ask it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Google)
    address = f"http://127.0.0.1:{server.server_port}"
    authority = base64.b64encode(cluster.authority.read_bytes()).decode()
    Google.asked.clear()
    Google.answers.clear()
    Google.answers["/token"] = {"access_token": cluster.token, "expires_in": 3600, "token_type": "Bearer"}
    Google.answers["/v1/projects/acme/locations/us-central1-a/clusters/kinetic-cluster"] = {
        "endpoint": f"127.0.0.1:{cluster.port}",
        "masterAuth": {"clusterCaCertificate": authority},
    }
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = tmp_path / "credentials.json"
    account = {
        "type": "service_account",
        "client_email": "ann@acme.iam.gserviceaccount.com",
        "private_key": pem.decode(),
        "token_uri": f"{address}/token",
    }
    path.write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield address
    server.shutdown()
    server.server_close()


def at_google(gke: Gke, address: str, folder: Path, **environ: str) -> Gke:
    return gke_at(
        gke.room,
        Path("/nowhere/config"),
        folder,
        CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER=f"{address}/",
        **{"KINETIC_PROJECT": "acme", **environ},
    )


def test_a_cluster_that_no_kubeconfig_has_is_reached_with_googles_credentials(
    gke: Gke, google: str, tmp_path: Path
) -> None:
    there = at_google(gke, google, tmp_path / "there")
    spec = there.job(lambda: 7, project="acme", zone="us-central1-a", cluster="kinetic-cluster")
    assert there.run(spec).status is JobStatus.SUCCEEDED
    assert there.value(spec) == 7
    ref = there.backend.submit(spec)
    assert ref.details["context"] == NAME
    assert "token" not in json.dumps(ref.to_json())
    assert Google.asked == ["/token", "/v1/projects/acme/locations/us-central1-a/clusters/kinetic-cluster"]


def test_an_expired_token_of_googles_is_asked_for_again(
    cluster: Cluster, gke: Gke, google: str, tmp_path: Path
) -> None:
    there = at_google(gke, google, tmp_path / "there")
    Google.answers["/token"]["access_token"] = cluster.act("token", user="eve", admin=True)
    assert list(there.backend.find()) == []
    cluster.act("revoke", user="eve")
    Google.answers["/token"]["access_token"] = cluster.token
    assert list(there.backend.find()) == []
    assert Google.asked.count("/token") == 2


def test_a_cluster_that_google_does_not_know_is_named(gke: Gke, google: str, tmp_path: Path) -> None:
    there = at_google(gke, google, tmp_path / "there", KINETIC_CLUSTER="other")
    with pytest.raises(
        ClusterError, match=r"no cluster 'other' of the project 'acme' .*: Not found: the cluster\. \(404\)"
    ):
        list(there.backend.find())


def test_without_credentials_it_says_how_to_log_in(
    gke: Gke, google: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    there = at_google(gke, google, tmp_path / "there")
    with pytest.raises(ClusterError, match="log in with: gcloud auth application-default login"):
        list(there.backend.find())


def test_a_pod_reaches_its_own_cluster(
    cluster: Cluster, gke: Gke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(cluster.port)}
    (tmp_path / "token").write_text(cluster.token)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    # Where every pod has them; this machine is none.
    monkeypatch.setattr("kubernetes.config.incluster_config.SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr("kubernetes.config.incluster_config.SERVICE_CERT_FILENAME", str(cluster.authority))
    pod = gke_at(gke.room, Path("/nowhere/config"), tmp_path / "pod", **told)
    ref = pod.backend.submit(pod.job(lambda: 7))
    assert ref.details["context"] == IN_CLUSTER
    pod.backend.cancel(ref)


def by_program(gke: Gke, folder: Path, program: Path | str, **more: str) -> Gke:
    """Return a client that has its credentials from a program, as those of Google's clusters do."""
    config = json.loads(gke.kubeconfig.read_text())
    version = "client.authentication.k8s.io/v1beta1"
    config["users"][0]["user"] = {"exec": {"apiVersion": version, "command": str(program), **more}}
    path = folder / "program.json"
    path.write_text(json.dumps(config))
    return gke_at(gke.room, path, folder / "there")


def test_a_program_gives_the_credentials_and_again_when_they_are_worth_nothing_any_more(
    cluster: Cluster, gke: Gke, tmp_path: Path
) -> None:
    token, program = tmp_path / "token", tmp_path / "give"
    said = {"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": {"token": "@"}}
    program.write_text(f'#!/bin/sh\nsed "s/@/$(cat {token})/" {tmp_path}/said\n')
    program.chmod(0o755)
    (tmp_path / "said").write_text(json.dumps(said))
    token.write_text(cluster.act("token", user="eve", admin=True))
    there = by_program(gke, tmp_path, program)
    assert list(there.backend.find()) == []
    cluster.act("revoke", user="eve")
    token.write_text(cluster.token)
    assert list(there.backend.find()) == []


@pytest.mark.parametrize(
    ("program", "more", "told"),
    [
        ("gke-gcloud-auth-plugin", {}, "there is no program 'gke-gcloud-auth-plugin'; install it with: gcloud"),
        ("oidc-login", {"installHint": "Get it\nfrom us"}, "there is no program 'oidc-login'; Get it from us"),
        ("fails", {}, "the program 'fails' gives no credentials; run it to see why"),
    ],
)
def test_a_program_that_gives_no_credentials_is_named(
    gke: Gke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, more: dict[str, str], told: str
) -> None:
    (tmp_path / "fails").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "fails").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=re.escape(told)):
        list(by_program(gke, tmp_path, program, **more).backend.find())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose kubeconfig has two contexts."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "kind-kind",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("kind-kind", NAME)],
    }
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(json.dumps(config))
    return tmp_path


@pytest.mark.parametrize(
    ("options", "context", "bound", "expected"),
    [
        (RunOptions(), "", "", "kind-kind"),
        (OURS, "", "", NAME),
        (OURS, "kind-kind", "", "kind-kind"),
        (OURS, "kind-kind", NAME, NAME),
    ],
)
def test_the_cluster_that_is_named_most_plainly_is_taken(
    home: Path, options: RunOptions, context: str, bound: str, expected: str
) -> None:
    found = choose_access(options, context=context, environ={}, home=home, bound=bound)
    assert found == Access(context=expected, kubeconfig=str(home / ".kube/config"))


def test_a_cluster_of_googles_is_not_taken_for_the_current_context(home: Path) -> None:
    options = RunOptions(project="acme", zone="europe-west4", cluster="other")
    found = choose_access(options, context="", environ={}, home=home)
    assert (found.context, found.google) == ("gke_acme_europe-west4_other", True)


def test_a_kubeconfig_without_a_current_context_is_one_all_the_same(home: Path) -> None:
    path = home / ".kube" / "config"
    config = json.loads(path.read_text())
    del config["current-context"]
    path.write_text(json.dumps(config))
    assert choose_access(OURS, context="", environ={}, home=home).kubeconfig == str(path)
    with pytest.raises(ConfigError, match="no cluster is named"):
        choose_access(RunOptions(), context="", environ={}, home=home)


def test_a_damaged_kubeconfig_is_named(home: Path) -> None:
    path = home / ".kube" / "config"
    path.write_text("][")
    with pytest.raises(ConfigError, match=r"\.kube/config cannot be read"):
        choose_access(OURS, context="", environ={}, home=home)


@pytest.mark.parametrize(
    "text",
    ["- 1\n- 2\n", "just text\n", "current-context: a\ncontexts: 3\n", '{"current-context": "a", "contexts": [1]}'],
)
def test_what_is_yaml_and_no_kubeconfig_is_named(home: Path, text: str) -> None:
    (home / ".kube" / "config").write_text(text)
    with pytest.raises(ConfigError, match=r"\.kube/config cannot be read"):
        choose_access(OURS, context="", environ={}, home=home)


def changed(gke: Gke, path: Path, *, cluster: dict[str, Any] | None = None, user: dict[str, Any]) -> Path:
    """Write the kubeconfig with another user, and more of the cluster."""
    config = json.loads(gke.kubeconfig.read_text())
    config["users"][0]["user"] = user
    config["clusters"][0]["cluster"] |= cluster or {}
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "No such file or directory: .*plugin"),
        ("echo 'the login has expired' >&2; exit 1", r"exec: process returned 1\. the login has expired"),
        ("echo nonsense", "failed to decode process output"),
        (
            """echo '{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": {}}'""",
            "missing token",
        ),
    ],
)
def test_a_plugin_that_gives_no_credentials_is_told_with_its_own_words(
    gke: Gke, tmp_path: Path, script: str | None, said: str
) -> None:
    plugin = tmp_path / "plugin"
    if script is not None:
        plugin.write_text(f"#!/bin/sh\n{script}\n")
        plugin.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": str(plugin)}}
    bob = gke_at(gke.room, changed(gke, tmp_path / "bob.json", user=user), tmp_path / "bob")
    handlers = list(logging.root.handlers)
    with pytest.raises(
        ClusterError, match=f"the program .* gives no credentials; run it to see why, or log in again: .*{said}"
    ):
        list(bob.backend.find())
    assert logging.root.handlers == handlers


def test_a_token_that_no_request_can_carry_is_not_shown(gke: Gke, tmp_path: Path) -> None:
    user = {"token": "s3cr3t\nof-two-lines"}
    bob = gke_at(gke.room, changed(gke, tmp_path / "bob.json", user=user), tmp_path / "bob")
    with pytest.raises(ClusterError, match="the credentials of the cluster hold what no request can carry") as caught:
        list(bob.backend.find())
    assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))


def test_a_cluster_that_does_not_prove_itself_is_not_asked_again(gke: Gke, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    make_context(other)
    user = {"token": "s3cr3t"}
    path = changed(gke, tmp_path / "bob.json", user=user, cluster={"certificate-authority": str(other)})
    bob = gke_at(gke.room, path, tmp_path / "bob")
    with pytest.raises(
        ClusterError, match=r"CERTIFICATE_VERIFY_FAILED.*does not prove to be this cluster.*kubeconfig anew"
    ):
        list(bob.backend.find())
    assert "cluster_request_repeated" not in bob.log.events("info")


def test_jobs_are_looked_for_where_the_active_profile_says(gke: Gke, room: Room, tmp_path: Path) -> None:
    def last() -> None:
        import time

        time.sleep(600)

    ref = gke.backend.submit(gke.job(last))
    home = tmp_path / "elsewhere"
    (home / ".kinetic").mkdir(parents=True)
    profile = {"format": 1, "active": "team", "profiles": {"team": {"namespace": room.namespace}}}
    (home / ".kinetic" / "profiles.json").write_text(json.dumps(profile))
    environ = {"PATH": os.environ["PATH"], "KUBECONFIG": str(gke.kubeconfig)}
    there = connect(Surroundings(environ=environ, home=home, cwd=home, sys_path=())).backend("gke")
    try:
        assert [found.job_id for found in there.find()] == [ref.job_id]
    finally:
        gke.backend.cancel(ref)
