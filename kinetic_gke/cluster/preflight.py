"""Preflight: what of a cluster would keep a job from running, asked before anything is uploaded."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import attrs

from kinetic_core.findings import Finding, Severity, errors
from kinetic_gke.accelerators import Hardware
from kinetic_gke.cluster.client import Client
from kinetic_gke.cluster.refusal import ClusterError, Refusal, can_i, no_namespace
from kinetic_gke.manifest.names import selector
from kinetic_gke.manifest.scheduling import node_selector

GOOD_FOR_S: Final = 300.0
"""How long a namespace that passed is taken for good."""
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_OK: Final = 200
_SIDE_BY_SIDE: Final = 8


@attrs.frozen
class Permission:
    """One thing that a client must be allowed to do."""

    verb: str
    resource: str
    """With a subresource behind a slash."""
    group: str = ""

    @property
    def name(self) -> str:
        """Return the resource as `kubectl` takes it."""
        plural, slash, subresource = self.resource.partition("/")
        return f"{plural}.{self.group}{slash}{subresource}" if self.group else self.resource


NEEDED: Final = (
    *(Permission(verb, "jobs", "batch") for verb in ("create", "get", "list", "watch", "patch", "delete")),
    *(Permission(verb, "pods") for verb in ("list", "watch")),
    Permission("get", "pods/log"),
    Permission("list", "events"),
)
"""By every job."""
FOR_SECRETS: Final = Permission("create", "secrets")
FOR_HOSTS: Final = Permission("create", "services")
FOR_DEBUG: Final = Permission("create", "pods/portforward")
FOR_ARRAYS: Final = (
    Permission("create", "configmaps"),
    Permission("patch", "configmaps"),
    Permission("deletecollection", "pods"),
)
"""To end one job of a batch before the others; nothing asks for it beforehand."""


@attrs.frozen(kw_only=True)
class Wants:
    """What a job needs of its cluster."""

    namespace: str
    hardware: Hardware
    service_account: str = ""
    has_secrets: bool = False
    debug: bool = False

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Return all that the client must be allowed to do."""
        more = [permission for permission, wanted in self._more if wanted]
        return (*NEEDED, *more)

    @property
    def _more(self) -> tuple[tuple[Permission, bool], ...]:
        return (FOR_SECRETS, self.has_secrets), (FOR_HOSTS, self.hardware.hosts > 1), (FOR_DEBUG, self.debug)


class Preflight:
    """Asks one cluster, and remembers for a while what was well."""

    def __init__(self, client: Client, *, now_s: Callable[[], float] = time.monotonic) -> None:
        """Ask nothing yet.

        Args:
            client: Of the cluster.
            now_s: The clock.
        """
        self._client = client
        self._now_s = now_s
        self._passed: dict[Wants, tuple[float, Sequence[Finding]]] = {}

    def findings(self, wants: Wants) -> Sequence[Finding]:
        """Return everything that stands in the way, and what nobody could tell."""
        asked_s, known = self._passed.get(wants, (-GOOD_FOR_S, ()))
        if self._now_s() - asked_s < GOOD_FOR_S:
            return known
        try:
            found = [*self._namespace(wants.namespace), *self._permissions(wants)]
            if not any(finding.code == "namespace_absent" for finding in found):
                found += [*self._service_account(wants), *self._nodes(wants.hardware)]
        except ClusterError as error:
            return (_error("cluster_unusable", str(error), ""),)
        if not errors(found):
            self._passed[wants] = self._now_s(), found
        return found

    def _namespace(self, name: str) -> Iterator[Finding]:
        status = self._status_of("show the namespace", lambda apis, options: apis.core.read_namespace(name, **options))
        if status == _NOT_FOUND:
            yield _error("namespace_absent", no_namespace(name), "")

    def _permissions(self, wants: Wants) -> Iterator[Finding]:
        asked = wants.permissions
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            allowed = list(pool.map(lambda one: self._is_allowed(one, wants.namespace), asked))
        for permission, is_allowed in zip(asked, allowed, strict=True):
            if not is_allowed:
                command = can_i(permission.verb, permission.name, wants.namespace)
                yield _error(
                    "permission_missing",
                    f"you may not {permission.verb} {permission.name} in the namespace {wants.namespace!r} of "
                    f"{self._client.access.name}",
                    f"see it with: {command}; ask for a role that allows it",
                )

    def _is_allowed(self, permission: Permission, namespace: str) -> bool:
        plural, _, subresource = permission.resource.partition("/")
        attributes = {
            "namespace": namespace,
            "verb": permission.verb,
            "group": permission.group,
            "resource": plural,
            **({"subresource": subresource} if subresource else {}),
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = self._client.sure(
            "say what you may do",
            lambda apis, options: apis.authorization.create_self_subject_access_review(body, **options),
        )
        return bool(answer["status"].get("allowed"))

    def _service_account(self, wants: Wants) -> Iterator[Finding]:
        name = wants.service_account
        if not name:
            return
        status = self._status_of(
            "show the service account",
            lambda apis, options: apis.core.read_namespaced_service_account(name, wants.namespace, **options),
        )
        if status == _NOT_FOUND:
            yield _error(
                "service_account_absent",
                f"there is no service account {name!r} in the namespace {wants.namespace!r}: no pod would be admitted",
                f"create it with kubectl create serviceaccount {name} --namespace {wants.namespace}, or correct "
                "KINETIC_GKE_SERVICE_ACCOUNT",
            )

    def _nodes(self, hardware: Hardware) -> Iterator[Finding]:
        labels = node_selector(hardware)
        if not labels:
            return
        wanted = selector(labels)
        try:
            answer = self._client.ask(
                "list the nodes",
                lambda apis, options: apis.core.list_node(label_selector=wanted, limit=1, **options),
            )
        except Refusal as refusal:
            if refusal.status != _FORBIDDEN:
                raise self._client.error(refusal, "list its nodes") from None
            yield _warning(
                "nodes_unknown",
                f"you may not list nodes, so nobody knows whether one has {wanted}: if none has, the job waits",
                "",
            )
            return
        if not answer.get("items"):
            yield _warning(
                "nodes_absent",
                f"no node has {wanted} now: the job waits until a node pool that scales from zero brings one",
                "look at the node pools with: gcloud container node-pools list",
            )

    def _status_of(self, wish: str, call: Callable[..., object]) -> int:
        """Return 200 or the status of a refusal that tells something; to be forbidden to look tells nothing.

        Raises:
            ClusterError: Anything else.
        """
        try:
            self._client.ask(wish, call)
        except Refusal as refusal:
            if refusal.status not in {_FORBIDDEN, _NOT_FOUND}:
                raise self._client.error(refusal, wish) from None
            return refusal.status
        return _OK


def _error(code: str, message: str, remedy: str) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, message=message, remedy=remedy)


def _warning(code: str, message: str, remedy: str) -> Finding:
    return Finding(code=code, severity=Severity.WARNING, message=message, remedy=remedy)
