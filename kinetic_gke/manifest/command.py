"""What the containers run. Addresses and hashes only: whoever may read pods may read it."""

from typing import Final

from kinetic_core.model.job import JobSpec
from kinetic_gke.manifest.site import Site

RUNNER_FOLDER: Final = "/kinetic/runner"
"""Where a brought runner lies."""
CARRIED: Final = ("kinetic_core", "kinetic_runner", "cloudpickle", "fsspec")
"""The packages that make up a runner."""

_CARRY: Final = """\
import importlib.util, pathlib, shutil, sys
target, *names = sys.argv[1:]
for name in names:
    source = pathlib.Path(importlib.util.find_spec(name).origin).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, pathlib.Path(target, name), ignore=ignored, dirs_exist_ok=True)
"""
# The folder comes last: what the image has of its own, such as another fsspec, is what the function imports.
_RUN_BROUGHT: Final = """\
import runpy, sys
sys.path.append(sys.argv.pop(1))
runpy.run_module("kinetic_runner", run_name="__main__", alter_sys=True)
"""


def carry_command(site: Site) -> list[str]:
    """Return the command that copies the runner out of its image."""
    return [site.python, "-c", _CARRY, RUNNER_FOLDER, *CARRIED]


def worker_command(site: Site) -> list[str]:
    """Return the command that starts the runner, without its arguments."""
    if site.runner_image:
        return [site.python, "-P", "-c", _RUN_BROUGHT, RUNNER_FOLDER]
    return [site.python, "-P", "-m", "kinetic_runner"]


def worker_arguments(spec: JobSpec, site: Site) -> list[str]:
    """Return the runner's arguments."""
    arguments = {
        "--context": spec.context.url,
        "--context-sha256": spec.context.sha256,
        "--payload": spec.payload.url,
        "--payload-sha256": spec.payload.sha256,
        "--result": spec.result_url,
        "--allowed-serialization": ",".join(spec.allowed_serialization),
    }
    if spec.requirements is not None and site.installs_requirements:
        arguments["--requirements"] = spec.requirements.url
    words = [word for flag, value in arguments.items() for word in (flag, literal(value))]
    return words + [word for layer in spec.context.layers for word in ("--context-layer", literal(layer))]


def literal(text: str) -> str:
    """Write a text so that Kubernetes, which expands `$(NAME)`, hands it on as it is.

    >>> literal("gs://bucket/$(HOME)")
    'gs://bucket/$$(HOME)'
    """
    return text.replace("$", "$$")
