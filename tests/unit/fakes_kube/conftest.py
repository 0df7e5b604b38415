"""The test cluster, for tests of the test cluster."""

from tests.fakes.kube.fixtures import cluster, healed, kubeconfig, room

__all__ = ["cluster", "healed", "kubeconfig", "room"]
