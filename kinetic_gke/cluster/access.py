"""Access: which cluster is meant, and the way to it: a kubeconfig, the pod's own account, or Google's credentials."""

import base64
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from kubernetes import client, config
from yaml import YAMLError

from kinetic_core.errors import ConfigError
from kinetic_core.model.request import RunOptions
from kinetic_gke.cluster.complaints import complaints
from kinetic_gke.cluster.refusal import ClusterError

_KUBECONFIG: Final = "KUBECONFIG"
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
_OVERRIDE: Final = "CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER"
_GOOGLE: Final = "https://container.googleapis.com/"
_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
# The last three: a kubeconfig that is YAML, and nothing like a kubeconfig.
_UNREADABLE: Final = (config.ConfigException, YAMLError, OSError, ValueError, TypeError, LookupError, AttributeError)
_SPEAKING: Final = (config.ConfigException, YAMLError, OSError)
_PARTS: Final = 4
IN_CLUSTER: Final = "in-cluster"
_HINTS: Final = {"gke-gcloud-auth-plugin": "install it with: gcloud components install gke-gcloud-auth-plugin"}
_TIMEOUT_S: Final = 30


@attrs.frozen(kw_only=True)
class Access:
    """One cluster and how it is reached. Equal ones are one cluster, for one and the same user."""

    context: str
    """Name of a kubeconfig's context; of a GKE cluster as gcloud names it: `gke_<project>_<location>_<name>`."""
    kubeconfig: str = ""
    """Paths as in `KUBECONFIG`; empty where the cluster is reached without."""
    google: bool = False
    """Through Application Default Credentials: no kubeconfig has the cluster."""
    endpoint: str = _GOOGLE
    """Of Google's API that tells where the cluster is."""

    @property
    def name(self) -> str:
        """Return the cluster's name for a person."""
        return f"the cluster {self.context!r}"

    def connect(self) -> client.ApiClient:
        """Return a client of this cluster alone; credentials are read anew.

        Raises:
            ClusterError: There are none, or they cannot be used.
        """
        try:
            if self.google:
                return _client_of(google_config(self.context, self.endpoint), self.context)
            if self.context == IN_CLUSTER:
                return _in_cluster()
            return _by_kubeconfig(self.kubeconfig, self.context)
        except _UNREADABLE as error:
            raise ClusterError(f"{self.name} cannot be reached: {error}; {self._remedy}") from error

    @property
    def _remedy(self) -> str:
        if self.google:
            return "log in with: gcloud auth application-default login"
        return f"look at the kubeconfig {self.kubeconfig!r}" if self.kubeconfig else "look at the pod's service account"


def choose_access(
    options: RunOptions, *, context: str, environ: Mapping[str, str], home: Path, bound: str = ""
) -> Access:
    """Return the access to the cluster that is meant; nothing is opened but the kubeconfig.

    Args:
        options: For project, zone and cluster.
        context: The one that the user named; empty where he named none.
        environ: The client's.
        home: The user's.
        bound: The context that a job was submitted with: it is taken, whatever the settings say now.

    Raises:
        ConfigError: No cluster is named, or the one that is cannot be found.
    """
    paths = environ.get(_KUBECONFIG) or str(home / ".kube" / "config")
    known, current = _contexts(paths)
    wanted = bound or context or (_gke_name(options) if options.project else "")
    endpoint = environ.get(_OVERRIDE) or _GOOGLE
    if wanted == IN_CLUSTER or (not wanted and not current and environ.get(_IN_CLUSTER)):
        return Access(context=IN_CLUSTER)
    if wanted in known or (not wanted and current):
        return Access(context=wanted or current, kubeconfig=paths)
    if _is_gke_name(wanted):
        return Access(context=wanted, google=True, endpoint=endpoint)
    if not wanted:
        raise ConfigError(
            "no cluster is named: set KINETIC_PROJECT, KINETIC_ZONE and KINETIC_CLUSTER, or KINETIC_GKE_CONTEXT to a "
            f"context of a kubeconfig; there is none in {paths}"
        )
    raise ConfigError(
        f"there is no context {wanted!r} in {paths}; known are {', '.join(map(repr, known)) or 'none'}. Create it, for "
        "example with gcloud container clusters get-credentials"
    )


def _gke_name(options: RunOptions) -> str:
    return f"gke_{options.project}_{options.zone}_{options.cluster}"


def _is_gke_name(name: str) -> bool:
    parts = name.split("_")
    return len(parts) == _PARTS and parts[0] == "gke" and all(parts)


def _contexts(paths: str) -> tuple[tuple[str, ...], str]:
    """Return the names of the contexts and the current one's; nothing where there is no kubeconfig."""
    there = [path for path in paths.split(os.pathsep) if path and Path(path).expanduser().is_file()]
    if not there:
        return (), ""
    try:
        found, current = config.list_kube_config_contexts(config_file=os.pathsep.join(there))
    except _UNREADABLE as error:
        # A kubeconfig without a current context is one all the same.
        if "current-context" in str(error):
            return tuple(_names(there)), ""
        what = str(error) if isinstance(error, _SPEAKING) else f"it is no kubeconfig ({type(error).__name__}: {error})"
        raise ConfigError(f"the kubeconfig {paths} cannot be read: {what}") from error
    return tuple(str(one["name"]) for one in found), str((current or {}).get("name", ""))


def _names(paths: list[str]) -> list[str]:
    return [str(one["name"]) for one in _merged(os.pathsep.join(paths)).value.get("contexts") or []]


def _merged(paths: str) -> Any:
    return config.kube_config.KubeConfigMerger(paths).config


def _by_kubeconfig(paths: str, name: str) -> client.ApiClient:
    """Return a client of the cluster of a context.

    Raises:
        ClusterError: What is to give its credentials gives none; the client would go on as nobody.
    """
    merged = _merged(paths)
    context = merged["contexts"].get_with_name(name)["context"]
    user = merged["users"].get_with_name(context["user"])["user"] if "user" in context else {}
    program = str(user["exec"]["command"]) if "exec" in user else ""
    if program and os.sep not in program and shutil.which(program) is None:
        hint = " ".join(str(user["exec"].safe_get("installHint") or _HINTS.get(program, "install it")).split())
        raise ClusterError(f"the cluster {name!r} cannot be reached: there is no program {program!r}; {hint}")
    configuration = client.Configuration()
    with complaints() as complained:
        config.load_kube_config(
            config_file=paths, context=name, client_configuration=configuration, persist_config=False
        )
    if program and not configuration.api_key and not configuration.cert_file:
        said = f": {'; '.join(complained)}" if complained else ""
        raise ClusterError(
            f"the cluster {name!r} cannot be reached: the program {program!r} gives no credentials; run it to see why, "
            f"or log in again{said}"
        )
    # The client of one generation reads it, that of the other does not.
    proxy = merged["clusters"].get_with_name(context["cluster"])["cluster"].safe_get("proxy-url")
    if proxy:
        configuration.proxy = proxy
    return client.ApiClient(configuration)


def _in_cluster() -> client.ApiClient:
    configuration = client.Configuration()
    config.load_incluster_config(client_configuration=configuration)
    return client.ApiClient(configuration=configuration)


def google_config(context: str, endpoint: str) -> dict[str, Any]:
    """Return a kubeconfig of a GKE cluster, with a fresh token of the Application Default Credentials.

    Raises:
        ClusterError: There are no credentials, or Google does not tell of such a cluster.
    """
    import google.auth
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import AuthorizedSession

    _, project, zone, name = context.split("_")
    url = f"{endpoint.rstrip('/')}/v1/projects/{project}/locations/{zone}/clusters/{name}"
    try:
        credentials, _ = google.auth.default(scopes=list(_SCOPES))
        session: Any = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]  # google-auth types it in part
        with session:
            answer = session.get(url, timeout=_TIMEOUT_S)
    except (GoogleAuthError, OSError) as error:
        raise ClusterError(
            f"Google was not asked for the cluster {name!r} of {project!r} in {zone!r}: {error}; log in with: gcloud "
            "auth application-default login"
        ) from error
    if not answer.ok:
        raise ClusterError(
            f"Google tells of no cluster {name!r} of the project {project!r} in {zone!r}: {_told(answer.text)} "
            f"({answer.status_code}); look at KINETIC_PROJECT, KINETIC_ZONE and KINETIC_CLUSTER"
        )
    found = answer.json()
    return _kubeconfig(context, found, str(credentials.token))


def _kubeconfig(context: str, found: Mapping[str, Any], token: str) -> dict[str, Any]:
    authority = found["masterAuth"]["clusterCaCertificate"]
    base64.b64decode(authority, validate=True)
    cluster = {"server": f"https://{found['endpoint']}", "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "clusters": [{"name": context, "cluster": cluster}],
        "users": [{"name": context, "user": {"token": token}}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
    }


def _told(body: str) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return body.strip()


def _client_of(kubeconfig: dict[str, Any], context: str) -> client.ApiClient:
    made: client.ApiClient = config.new_client_from_config_dict(kubeconfig, context=context, persist_config=False)
    return made
