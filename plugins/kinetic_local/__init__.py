"""The local backend: a pod made of a subprocess."""
