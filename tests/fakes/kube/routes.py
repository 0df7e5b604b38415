"""From a method and a path to what is asked for."""

from typing import Final
from urllib.parse import parse_qsl, urlsplit

import attrs

from tests.fakes.kube.access import Wish
from tests.fakes.kube.answers import NoSuchPath, Refusal, unknown_resource
from tests.fakes.kube.api import Target
from tests.fakes.kube.resources import Catalog

_VERBS: Final = {"DELETE": "delete", "GET": "get", "PATCH": "patch", "POST": "create", "PUT": "update"}
_OF_NAMESPACES: Final = {"finalize", "status"}


@attrs.frozen(kw_only=True)
class Request:
    """A request for a resource: which verb, of what."""

    verb: str
    target: Target
    query: dict[str, str]

    @property
    def wish(self) -> Wish:
        """Return what access is asked for."""
        resource = self.target.resource
        of_itself = resource.id == "namespaces"
        return Wish(
            verb=self.verb,
            group=resource.group,
            plural=resource.plural,
            subresource=self.target.subresource,
            namespace=self.target.name if of_itself else self.target.namespace,
            name=self.target.name,
        )


def split(path: str) -> tuple[list[str], dict[str, str]]:
    """Return the parts of the path, and the query."""
    parsed = urlsplit(path)
    return [part for part in parsed.path.split("/") if part], dict(parse_qsl(parsed.query, keep_blank_values=True))


def routed(method: str, path: str, catalog: Catalog) -> Request:
    """Return what is asked for.

    Raises:
        NoSuchPath: Nothing is served there.
        Refusal: The group has no such resource, or the resource not that verb.
    """
    parts, query = split(path)
    group, version, rest = _group(parts)
    if not rest:
        raise NoSuchPath
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    resource = catalog.find(group, version, rest[0])
    name, subresource = (*rest[1:3], "", "")[:2]
    if subresource and subresource not in resource.subresources:
        raise unknown_resource()
    if resource.namespaced and not namespace and (name or method != "GET"):
        raise unknown_resource()
    target = Target(resource=resource, namespace=namespace, name=name, subresource=subresource)
    verb = _verb(method, target, query)
    if not subresource and verb not in resource.verbs:
        raise Refusal(
            code=405,
            reason="MethodNotAllowed",
            message="the server does not allow this method on the requested resource",
            details={},
        )
    return Request(verb=verb, target=target, query=query)


def _group(parts: list[str]) -> tuple[str, str, list[str]]:
    match parts:
        case ["api", version, *rest]:
            return "", version, rest
        case ["apis", group, version, *rest]:
            return group, version, rest
        case _:
            raise NoSuchPath


def _verb(method: str, target: Target, query: dict[str, str]) -> str:
    if method == "GET" and not target.name:
        return "watch" if query.get("watch") in {"1", "true", "True"} else "list"
    if method == "DELETE" and not target.name:
        return "deletecollection"
    return _VERBS[method]
