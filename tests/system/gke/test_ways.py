"""The way to a cluster: through a proxy, under another name; requests and tunnels take the same."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetic_gke.cluster.refusal import ClusterError
from kinetic_gke.cluster.sharing import close_clusters
from tests.fakes.kube.cluster import Cluster
from tests.fakes.kube.waiting import Room, until
from tests.fakes.servers.connect_proxy import ConnectProxy, connect_proxy
from tests.system.gke.conftest import Gke, gke_at

Way = Callable[..., Gke]


@pytest.fixture
def way(cluster: Cluster, room: Room, tmp_path: Path) -> Iterator[Way]:
    """Return clients by what a kubeconfig says of the cluster beside the usual."""

    def made(**told: Any) -> Gke:
        path = cluster.kubeconfig(tmp_path / "way.json")
        config = json.loads(path.read_text())
        config["clusters"][0]["cluster"] |= told
        path.write_text(json.dumps(config))
        return gke_at(room, path, tmp_path / "client")

    yield made
    close_clusters()


@pytest.fixture
def proxy() -> Iterator[ConnectProxy]:
    with connect_proxy("ann:s3:cr@t") as running:
        yield running


def debugged(gke: Gke) -> bytes:
    """Run a job that waits for a debugger; return what that says first."""
    ref = gke.backend.submit(gke.job(lambda: time.sleep(600), debug=True))
    connection = until(lambda: gke.backend.debug_connection(ref))
    assert connection is not None
    said = connection.receive()
    connection.close()
    gke.backend.cleanup(ref)
    return said


def test_a_proxy_of_the_kubeconfig_is_used_for_all_with_its_password(way: Way, proxy: ConnectProxy) -> None:
    pytest.importorskip("debugpy")
    gke = way(**{"proxy-url": f"http://ann:s3%3Acr%40t@127.0.0.1:{proxy.port}"})
    assert gke.run(gke.job(lambda: 7)).exit_code == 0
    before = len(proxy.asked)
    assert before > 0
    assert b"telemetry" in debugged(gke)
    assert len(proxy.asked) > before
    assert proxy.refused == 0


def test_a_proxy_that_lets_nobody_through_is_said_and_its_password_is_not(way: Way, proxy: ConnectProxy) -> None:
    gke = way(**{"proxy-url": f"http://ann:other@127.0.0.1:{proxy.port}"})
    with pytest.raises(ClusterError, match=r"cannot be reached .*407.* look at network, VPN and proxy") as refused:
        list(gke.backend.find())
    assert "other" not in str(refused.value)
    assert proxy.refused == 2  # of a listing that nobody waits long for


def test_a_proxy_of_the_environment_is_used_but_where_it_says_not_to(
    way: Way, proxy: ConnectProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("debugpy")
    monkeypatch.setenv("HTTPS_PROXY", f"http://ann:s3%3Acr%40t@127.0.0.1:{proxy.port}")
    monkeypatch.setenv("https_proxy", f"http://ann:s3%3Acr%40t@127.0.0.1:{proxy.port}")
    assert b"telemetry" in debugged(way())
    assert len(proxy.asked) > 1
    close_clusters()
    proxy.asked.clear()
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8,127.0.0.1")
    monkeypatch.setenv("no_proxy", "10.0.0.0/8,127.0.0.1")
    assert b"telemetry" in debugged(way())
    assert proxy.asked == []


def test_the_server_is_known_by_the_name_that_the_kubeconfig_gives_it(way: Way) -> None:
    pytest.importorskip("debugpy")
    assert b"telemetry" in debugged(way(**{"tls-server-name": "localhost"}))


def test_a_server_of_another_name_is_not_believed(way: Way) -> None:
    gke = way(**{"tls-server-name": "cluster.example"})
    with pytest.raises(ClusterError, match=r"cannot be reached .*cluster\.example"):
        list(gke.backend.find())
