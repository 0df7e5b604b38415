"""What the environment says about a site: the driver's settings, read from what the client hands it."""

import re
from collections.abc import Mapping
from typing import Final

import attrs

from kinetic_core.errors import ConfigError
from kinetic_core.model.request import RunOptions
from kinetic_core.wire.names import DEBUG_WAIT_S, ENV_DEBUG_WAIT
from kinetic_gke.images import USER_ID
from kinetic_gke.manifest.site import Site

_NAMESPACE: Final = "default"
_ZONE: Final = "us-central1-a"
_CLUSTER: Final = "kinetic-cluster"
_QUANTITY: Final = re.compile(r"\d+(\.\d+)?(m|k|[KMGTPE]i|[MGTPE])?")
_YES: Final = frozenset(("1", "true", "yes"))


@attrs.frozen(kw_only=True)
class GkeSettings:
    """Settings of the GKE backend, as given.

    >>> GkeSettings.from_environ({"KINETIC_GKE_CPU": "500m"}).cpu
    '500m'
    """

    service_account: str = ""
    runner_image: str = ""
    python: str = "python3"
    cpu: str = ""
    memory: str = ""
    mounts_token: bool = False
    run_as_user: int | None = None
    ttl_s: int | None = None
    debug_wait_s: int = DEBUG_WAIT_S
    """How long a job that is debugged waits for a debugger."""
    context: str = ""
    """Of a kubeconfig."""
    namespace: str = _NAMESPACE
    """Where jobs are looked for that say nothing of it themselves."""
    project: str = ""
    zone: str = _ZONE
    cluster: str = _CLUSTER

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], said: RunOptions | None = None) -> "GkeSettings":
        """Read the variables `KINETIC_GKE_…`; an empty one counts as unset.

        Args:
            environ: The client's.
            said: What variables of all backends and the active profile say of where jobs go.

        Raises:
            ConfigError: One says what it cannot say.
        """
        said = RunOptions() if said is None else said
        return cls(
            service_account=_text(environ, "SERVICE_ACCOUNT"),
            runner_image=_text(environ, "RUNNER_IMAGE"),
            python=_text(environ, "PYTHON") or "python3",
            cpu=_quantity(environ, "CPU"),
            memory=_quantity(environ, "MEMORY"),
            mounts_token=_text(environ, "MOUNT_TOKEN").lower() in _YES,
            run_as_user=_number(environ, "RUN_AS_USER"),
            ttl_s=_number(environ, "TTL"),
            debug_wait_s=_debug_wait_s(environ),
            context=_text(environ, "CONTEXT"),
            namespace=_of_all(environ, "NAMESPACE") or said.namespace or _NAMESPACE,
            project=_of_all(environ, "PROJECT") or said.project or environ.get("GOOGLE_CLOUD_PROJECT", "").strip(),
            zone=_of_all(environ, "ZONE") or said.zone or _ZONE,
            cluster=_of_all(environ, "CLUSTER") or said.cluster or _CLUSTER,
        )

    def target(self) -> RunOptions:
        """Return options that say no more than which cluster is meant."""
        return RunOptions(project=self.project or None, zone=self.zone, cluster=self.cluster, namespace=self.namespace)

    def bucket(self, options: RunOptions) -> str:
        """Return the URL of the store that belongs to a cluster.

        Raises:
            ConfigError: There is none without a project.
        """
        if not options.project:
            raise ConfigError(
                "no store is named, and without a project there is no bucket of its cluster: set KINETIC_STORAGE to a "
                "URL that the pods can reach, such as gs://bucket/jobs, or KINETIC_PROJECT"
            )
        return f"gs://{options.project}-kn-{options.cluster or _CLUSTER}-jobs"

    def site(self, options: RunOptions, *, image: str, is_ours: bool, installs_requirements: bool = False) -> Site:
        """Return the surroundings of a job.

        Args:
            options: The job's, for its namespace.
            image: URI of its image.
            is_ours: The image was built for this project: it has the runner, and a user that is not root.
            installs_requirements: The pod installs the dependency file.

        Raises:
            ConfigError: The image is a stranger's, and there is none to bring the runner from.
        """
        if not is_ours and not self.runner_image:
            raise ConfigError(
                f"the image {image!r} is not known to have the runner; set KINETIC_GKE_RUNNER_IMAGE to an image that "
                "has kinetic-run, and a pod copies the runner from there when it starts"
            )
        made = Site(
            namespace=options.namespace or _NAMESPACE,
            image=image,
            runner_image="" if is_ours else self.runner_image,
            installs_requirements=installs_requirements,
            python=self.python,
            service_account=self.service_account,
            mounts_token=self.mounts_token,
            run_as_user=USER_ID if is_ours and self.run_as_user is None else self.run_as_user,
            cpu=self.cpu,
            memory=self.memory,
            debug_wait_s=self.debug_wait_s,
        )
        return made if self.ttl_s is None else attrs.evolve(made, ttl_s=self.ttl_s, debug_ttl_s=self.ttl_s)


def _text(environ: Mapping[str, str], name: str) -> str:
    return environ.get(f"KINETIC_GKE_{name}", "").strip()


def _of_all(environ: Mapping[str, str], name: str) -> str:
    """Return a variable that the client reads too."""
    return environ.get(f"KINETIC_{name}", "").strip()


def _debug_wait_s(environ: Mapping[str, str]) -> int:
    text = environ.get(ENV_DEBUG_WAIT, "").strip()
    if text and not (text.isascii() and text.isdigit()):
        raise ConfigError(f"{ENV_DEBUG_WAIT}={text!r} is no number of seconds; write a whole number")
    return int(text or DEBUG_WAIT_S)


def _quantity(environ: Mapping[str, str], name: str) -> str:
    text = _text(environ, name)
    if text and _QUANTITY.fullmatch(text) is None:
        raise ConfigError(f"KINETIC_GKE_{name}={text!r} is no Kubernetes quantity; write one such as 2, 500m or 4Gi")
    return text


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = _text(environ, name)
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or (name == "RUN_AS_USER" and int(text) == 0):
        raise ConfigError(f"KINETIC_GKE_{name}={text!r} is no number that can be used; write a whole number above 0")
    return int(text)
