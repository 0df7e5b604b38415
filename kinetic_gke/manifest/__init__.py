"""Kubernetes objects of a job, made by pure functions of its spec and of what the site wants."""
