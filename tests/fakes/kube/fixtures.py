"""Fixtures for tests of what talks to a cluster; a `conftest.py` imports those that it needs.

`KINETIC_TEST_KUBECONFIG` points the tests that take only a kubeconfig at another cluster.
"""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from kubernetes import config

from tests.fakes.kube.cluster import ROOT, Cluster, running_cluster
from tests.fakes.kube.pace import Pace
from tests.fakes.kube.waiting import Room

# Read at import: the tests' own environment is emptied of what begins with KINETIC_.
ELSEWHERE = os.environ.get("KINETIC_TEST_KUBECONFIG")
# They are not ours to commit.
DEFINITIONS = ROOT.parent / "shared" / "kube"
# A deadline or a grace period of the API takes four tenths of what it says, a watch's timeout all of it; an owner
# waits long enough for its dependents to be seen doing so.
PACE = Pace(second_s=0.4, collect_s=0.3)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Run one cluster for the session."""
    with running_cluster(pace=PACE) as running:
        yield running


@pytest.fixture(scope="session")
def defined(cluster: Cluster) -> Cluster:
    """Let the cluster serve JobSets, LeaderWorkerSets and PathwaysJobs, by the definitions beside the checkout."""
    if not DEFINITIONS.is_dir():
        pytest.skip("the definitions of JobSet, LeaderWorkerSet and PathwaysJob are not beside this checkout")
    for path in sorted(DEFINITIONS.glob("*-crd.yaml")):
        for body in yaml.load_all(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if body and body["kind"] == "CustomResourceDefinition":
                cluster.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    return cluster


@pytest.fixture
def healed(cluster: Cluster) -> Iterator[Cluster]:
    """Lend the cluster to a test that lets things go wrong in it."""
    yield cluster
    cluster.heal()


@pytest.fixture
def kubeconfig(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a kubeconfig of the cluster under test: the one of `KINETIC_TEST_KUBECONFIG`, or the double."""
    if ELSEWHERE:
        return Path(ELSEWHERE)
    running: Cluster = request.getfixturevalue("cluster")
    return running.kubeconfig(tmp_path / "kubeconfig.json")


@pytest.fixture
def room(request: pytest.FixtureRequest, kubeconfig: Path) -> Iterator[Room]:
    """Return a new namespace to work in, of whichever cluster; it goes with all that is in it."""
    if ELSEWHERE and "cluster" in request.fixturenames:
        pytest.skip("KINETIC_TEST_KUBECONFIG names another cluster, and this test needs a hand on the double")
    with config.new_client_from_config(str(kubeconfig)) as api:
        made = Room(api, f"test-{secrets.token_hex(4)}")
        made.core.create_namespace({"metadata": {"name": made.namespace}})
        yield made
        made.core.delete_namespace(made.namespace)
