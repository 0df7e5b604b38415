"""What our own manifests meet at the server: every golden file of GKE's, read strictly."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.objects import Obj

GOLDEN = sorted((Path(__file__).parents[2] / "golden" / "gke").glob("*.json"))
PLACES = {"Job": ("/apis/batch/v1", "jobs"), "Secret": ("/api/v1", "secrets"), "Service": ("/api/v1", "services")}


@pytest.fixture(scope="module")
def strict(cluster: Cluster) -> Iterator[Cluster]:
    """Return the cluster with the namespaces of the golden files."""
    namespaces = {obj["metadata"]["namespace"] for path in GOLDEN for obj in objects(path)} - {"default"}
    for name in namespaces:
        cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    yield cluster
    for name in namespaces:
        cluster.call("DELETE", f"/api/v1/namespaces/{name}")


def objects(path: Path) -> list[Obj]:
    found: list[Obj] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_server_takes_each_of_them_as_it_is(strict: Cluster, path: Path) -> None:
    for obj in objects(path):
        group, plural = PLACES[obj["kind"]]
        where = f"{group}/namespaces/{obj['metadata']['namespace']}/{plural}?dryRun=All&fieldValidation=Strict"
        made = json.loads(strict.call("POST", where, obj))
        assert made["metadata"]["name"] == obj["metadata"]["name"]
