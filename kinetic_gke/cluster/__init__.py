"""Talking to a cluster: the only importer of the Kubernetes client."""
