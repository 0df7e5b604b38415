"""What the containers run. Addresses and hashes only: whoever may read pods may read it."""

from typing import Final

from kinetic_core.model.job import JobSpec
from kinetic_gke.manifest.names import job_name
from kinetic_gke.manifest.site import Site

RUNNER_FOLDER: Final = "/kinetic/runner"
"""Where a brought runner lies."""
CARRIED: Final = ("kinetic_core", "kinetic_runner", "cloudpickle", "fsspec")
"""The packages that make up a runner."""
_DEBUGGER: Final = "debugpy"

_CARRY: Final = """\
import importlib.util, pathlib, shutil, sys
target, *names = sys.argv[1:]
for name in names:
    if name == "debugpy" and importlib.util.find_spec(name) is None:
        continue
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
# One job of an array: who it is follows from its index and the table, as `kinetic_gke.manifest.table` has it.
_RUN_INDEXED: Final = """\
import json, os, pathlib, runpy, sys
place, table = int(os.environ["KINETIC_ARRAY_INDEX"]), json.loads(os.environ.pop("KINETIC_ARRAY_TABLE"))
if pathlib.Path("/kinetic/cancelled", str(place)).exists():
    sys.exit("kinetic: this job was cancelled before it started")
parts = [part.partition("-") for part in table["numbers"].split(",")]
spans = [range(int(first), int(last or first) + 1) for first, _, last in parts]
number = [number for span in spans for number in span][place]
name = lambda first: "job-%08x" % ((first + number * table["step"]) % (1 << 32))
between = "" if table["output_id"] is None else name(table["output_id"])
os.environ["KINETIC_JOB_ID"] = name(table["first_id"])
os.environ["KINETIC_OUTPUT_DIR"] = between.join(table["output"])
sys.argv += ["--payload", str(number).join(table["payload"]), "--result", str(number).join(table["result"])]
sys.path += [folder] if (folder := sys.argv.pop(1)) else []
runpy.run_module("kinetic_runner", run_name="__main__", alter_sys=True)
"""
CANCELLED_FOLDER: Final = "/kinetic/cancelled"
"""Where a job of an array finds a file named by its index when it is not wanted any more."""
ENV_INDEX: Final = "KINETIC_ARRAY_INDEX"
ENV_TABLE: Final = "KINETIC_ARRAY_TABLE"


def carry_command(spec: JobSpec, site: Site) -> list[str]:
    """Return the command that copies the runner out of its image, and the debugger where it is wanted and there."""
    return [site.python, "-c", _CARRY, RUNNER_FOLDER, *CARRIED, *([_DEBUGGER] if spec.options.debug else [])]


def worker_command(site: Site) -> list[str]:
    """Return the command that starts the runner, without its arguments."""
    if site.runner_image:
        return [site.python, "-P", "-c", _RUN_BROUGHT, RUNNER_FOLDER]
    return [site.python, "-P", "-m", "kinetic_runner"]


def indexed_command(site: Site) -> list[str]:
    """Return the command that starts the runner as one job of an array."""
    return [site.python, "-P", "-c", _RUN_INDEXED, RUNNER_FOLDER if site.runner_image else ""]


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
    if spec.options.debug:
        arguments["--workspace"] = debug_workspace(job_name(spec.job_id))
    words = [word for flag, value in arguments.items() for word in (flag, literal(value))]
    return words + [word for layer in spec.context.layers for word in ("--context-layer", literal(layer))]


def debug_workspace(name: str) -> str:
    """Return where a job that is debugged has its files: the debugger is told of them by their paths.

    Args:
        name: Of its Job.

    >>> debug_workspace("kinetic-job-0a1b2c3d")
    '/tmp/kinetic-job-0a1b2c3d'
    """
    return f"/tmp/{name}"  # noqa: S108 - of a pod, which is the job's alone


def literal(text: str) -> str:
    """Write a text so that Kubernetes, which expands `$(NAME)`, hands it on as it is.

    >>> literal("gs://bucket/$(HOME)")
    'gs://bucket/$$(HOME)'
    """
    return text.replace("$", "$$")
