"""Bodies of requests, as short as they can be."""

import os
from typing import Any, Final

from tests.fakes.kube.objects import Obj

# Only another cluster looks at it: there it needs a `python3`.
IMAGE: Final = os.environ.get("KINETIC_TEST_IMAGE", "docker.io/library/python:3.11-slim")


def container(script: str, name: str = "main", **more: Any) -> Obj:
    """Return a container that runs a Python script."""
    return {"name": name, "image": IMAGE, "command": ["python3", "-u", "-c", script], **more}


def pod_spec(script: str, *, main: Obj | None = None, **more: Any) -> Obj:
    """Return a pod's spec with one container, more of which `main` gives."""
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 2,
        "containers": [container(script, **(main or {}))],
        **more,
    }


def job(name: str, script: str, *, pod: Obj | None = None, main: Obj | None = None, **spec: Any) -> Obj:
    """Return a Job that runs a script; `pod` and `main` add to its pod and its container."""
    template = {"spec": pod_spec(script, main=main, **(pod or {}))}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": template, **spec},
    }
