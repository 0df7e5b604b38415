"""The test cluster, for tests of the test cluster."""

from tests.fakes.kube.fixtures import api, cluster, healed, kubeconfig, namespace, room

__all__ = ["api", "cluster", "healed", "kubeconfig", "namespace", "room"]
