"""Refusals: what an API server says no with, in one form for every generation of the client, and in one sentence."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import attrs
from kubernetes.client.exceptions import ApiException, OpenApiException
from urllib3.exceptions import HTTPError

from kinetic_core.errors import KineticError

_PASSING: Final = frozenset((408, 429, 500, 502, 503, 504))
_FORBIDDEN: Final = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_CONFLICT: Final = 409
_UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"
_FORBIDDEN_STATUS: Final = 403
_NOT_FOUND: Final = 404
_BROKEN: Final = 500
_CAUSES: Final[Mapping[int, str]] = {
    0: "it cannot be reached ({message}); look at network, VPN and proxy, and whether the cluster still is",
    401: "it does not take these credentials (401), also after they were read again; log in again, for example with "
    "gcloud auth login and gcloud container clusters get-credentials",
    429: "it has too much to do ({message}); try again later",
}
_DENIED: Final = re.compile("admission webhook|denied the request")
_LIMITS: Final = re.compile(
    r"(maximum|minimum) \S+ usage per|max limit to request ratio per|must specify (limits|requests)"
)
_BAD_REQUEST: Final = 400
_NO_NAMESPACE: Final = re.compile(r'namespaces "([^"]+)" not found')


class ClusterError(KineticError, RuntimeError):
    """A cluster refused, or could not be reached; the message says what was wanted and how to mend it."""

    may_pass: bool = False
    """Whether the same question may be answered later."""


@attrs.frozen(kw_only=True)
class Refusal(Exception):  # noqa: N818 - it is an answer, which most callers expect
    """An answer that is no success; status 0 where there was none at all."""

    status: int
    reason: str = ""
    """The server's own word: `AlreadyExists`."""
    message: str = ""
    retry_after_s: float | None = None

    @property
    def may_pass(self) -> bool:
        """Tell whether the same request may succeed later."""
        is_away = self.status == 0 and _UNTRUSTED not in self.message
        return is_away or self.status in _PASSING or (self.status == _CONFLICT and not self.is_there)

    @property
    def is_there(self) -> bool:
        """Tell whether what was to be made is there; the other conflict is of two who write at the same time."""
        return self.status == _CONFLICT and self.reason != "Conflict"

    def __str__(self) -> str:
        return f"{self.status or 'no answer'}: {self.message}"


def refusal_of(error: Exception) -> Refusal:
    """Return what an exception of the client, or of the library below it, says."""
    if isinstance(error, ApiException) and error.status:
        headers: Mapping[str, str] = error.headers or {}
        return read_refusal(int(error.status), error.body, headers.get("Retry-After"), str(error.reason or ""))
    text = str(getattr(error, "reason", None) or error)
    return Refusal(status=0, reason=type(error).__name__, message=" ".join(text.split()))


def read_refusal(status: int, body: Any, retry_after: str | None = None, otherwise: str = "") -> Refusal:
    r"""Read an answer that is no success: a `Status`, or text where the server knows no such API.

    >>> read_refusal(404, b'{"reason": "NotFound", "message": "jobs.batch \\"a\\" not found"}').reason
    'NotFound'
    """
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or "")
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    pause_s = float(retry_after) if retry_after and retry_after.isdigit() else None
    if not isinstance(told, dict):
        return Refusal(status=status, message=text.strip() or otherwise, retry_after_s=pause_s)
    return Refusal(
        status=status,
        reason=str(told.get("reason") or ""),
        message=str(told.get("message") or otherwise),
        retry_after_s=pause_s,
    )


OF_THE_CLIENT: Final = (OpenApiException, HTTPError, OSError)
"""What a request may raise that is no answer of ours: the client's own, and those of the libraries below it."""


def explained(refusal: Refusal, *, wish: str, where: str) -> str:
    """Return one sentence: what was wanted, what stands against it, what to do.

    Args:
        refusal: The answer.
        wish: What was wanted: `create the Job`.
        where: The cluster, for a person.
    """
    return f"{where} did not {wish}: {_cause(refusal)}"


def _cause(refusal: Refusal) -> str:
    message = refusal.message
    missing = _NO_NAMESPACE.search(message)
    if refusal.status == _FORBIDDEN_STATUS:
        return _forbidden(message)
    if refusal.status == _NOT_FOUND and missing is not None:
        return no_namespace(missing[1])
    if refusal.status == 0 and _UNTRUSTED in message:
        return (
            f"it cannot be reached ({message}): whoever answers there does not prove to be this cluster, as its "
            "certificate-authority in the kubeconfig is another's, or a proxy stands between; get the kubeconfig anew, "
            "for example with gcloud container clusters get-credentials"
        )
    if refusal.status == _BAD_REQUEST and _DENIED.search(message):
        return _forbidden(message)
    if refusal.status == _BROKEN and "webhook" in message:
        return f"an admission webhook of the cluster does not answer ({message}); its administrator must mend it"
    otherwise = "{message} ({status}); it may pass, try again later" if refusal.may_pass else "{message} ({status})"
    return _CAUSES.get(refusal.status, otherwise).format(message=message or refusal.reason, status=refusal.status)


def no_namespace(name: str) -> str:
    """Return what to do where a namespace is missing."""
    return (
        f"there is no namespace {name!r}; create it with kubectl create namespace {name}, or name another with "
        "namespace= or KINETIC_NAMESPACE"
    )


def _forbidden(message: str) -> str:
    if "exceeded quota" in message:
        return f"the namespace's quota is used up ({message}); end other jobs, or ask for a larger quota"
    if "being terminated" in message:
        return f"the namespace is being deleted ({message}); name another with namespace= or KINETIC_NAMESPACE"
    if _LIMITS.search(message):
        return (
            f"the namespace's limits do not allow what the job asks for ({message}); ask for other amounts with "
            "KINETIC_GKE_CPU and KINETIC_GKE_MEMORY, or for other limits"
        )
    if _DENIED.search(message):
        return f"the cluster's own rules forbid it ({message})"
    found = _FORBIDDEN.search(message)
    if found is None:
        return f"it is forbidden ({message})"
    namespace = found["namespace"]
    place = f" in the namespace {namespace!r}" if namespace else ""
    named = f"{found['resource']}.{found['group']}" if found["group"] else found["resource"]
    return (
        f"{found['user']!r} may not {found['verb']} {named}{place}; see it with: "
        f"{can_i(found['verb'], named, namespace or '')}, and ask for a role that allows it"
    )


def can_i(verb: str, resource: str, namespace: str) -> str:
    """Return the command that asks whether somebody may do something.

    >>> can_i("get", "pods/log", "research")
    'kubectl auth can-i get pods --subresource=log --namespace research'
    """
    plural, _, subresource = resource.partition("/")
    words = ["kubectl auth can-i", verb, plural]
    words += [f"--subresource={subresource}"] * bool(subresource)
    words += [f"--namespace {namespace}"] * bool(namespace)
    return " ".join(words)
