"""The variables of a pod. Secrets are referred to, never written; captured variables travel in the payload."""

import re
from typing import Any, Final

from kinetic_core.errors import ConfigError
from kinetic_core.model.job import JobSpec
from kinetic_core.wire.names import ENV_DEBUG, ENV_DEBUG_WAIT, ENV_JOB_ID, ENV_NUM_HOSTS, ENV_OUTPUT_DIR
from kinetic_gke.manifest.command import literal
from kinetic_gke.manifest.names import job_name
from kinetic_gke.manifest.site import Site

DEBUG_PORT: Final = 5678
"""What the debuggers that attach propose by themselves."""
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def worker_environment(spec: JobSpec, site: Site, *, hosts: int) -> list[dict[str, Any]]:
    """Return the worker's variables.

    Args:
        spec: The job; of its secrets only the names are used.
        site: Its surroundings.
        hosts: Pods that run the job together.

    Raises:
        ConfigError: A secret's name cannot be a key of a Secret.
    """
    ours = {
        "PYTHONUNBUFFERED": "1",
        ENV_JOB_ID: spec.job_id,
        ENV_OUTPUT_DIR: literal(spec.output_dir),
        ENV_NUM_HOSTS: str(hosts),
    }
    if spec.options.debug:
        # On the pod itself only: whoever reaches a debugger may run anything.
        ours |= {ENV_DEBUG: f"127.0.0.1:{DEBUG_PORT}", ENV_DEBUG_WAIT: str(site.debug_wait_s)}
    plain: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in ours.items()]
    secret = job_name(spec.job_id)
    referred = [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": name}}}
        for name in secret_names(spec)
        if name not in ours
    ]
    return plain + referred


def secret_names(spec: JobSpec) -> list[str]:
    """Return the names of the job's secrets, sorted.

    Raises:
        ConfigError: One cannot be a key of a Secret.
    """
    wrong = sorted(name for name in spec.secrets if _KEY.fullmatch(name) is None)
    if wrong:
        raise ConfigError(
            f"secrets {', '.join(map(repr, wrong))}: a Kubernetes Secret takes names of letters, digits, "
            "'-', '_' and '.' only; give the variable such a name"
        )
    return sorted(spec.secrets)
