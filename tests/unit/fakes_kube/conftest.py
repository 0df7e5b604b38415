"""The test cluster, for tests of the test cluster."""

from tests.fakes.kube.fixtures import cluster, defined, healed, kubeconfig, room

__all__ = ["cluster", "defined", "healed", "kubeconfig", "room"]
