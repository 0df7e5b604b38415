"""The verbs: what each request does to the store, with admission, defaults and checks on the way."""

import base64
import contextlib
import copy
import json
from collections.abc import Callable
from typing import Any

import attrs

from tests.fakes.kube import answers, structural
from tests.fakes.kube.answers import Refusal, bad_request, conflict, invalid, not_found
from tests.fakes.kube.defaults import fill_in
from tests.fakes.kube.deletion import Propagation, ask_to_go, stop_pod
from tests.fakes.kube.extensions import Webhooks
from tests.fakes.kube.objects import Obj, generated, name_of
from tests.fakes.kube.patches import APPLY, patched
from tests.fakes.kube.resources import Catalog, Resource
from tests.fakes.kube.schema import Decoded, decode
from tests.fakes.kube.selectors import Matcher, field_matcher, label_matcher
from tests.fakes.kube.store import Key, StaleError, Store, TakenError, identified
from tests.fakes.kube.validation import check, check_change, check_service_account

# What only the server writes.
_SERVERS_OWN = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


@attrs.frozen(kw_only=True)
class Target:
    """What a path names."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> Key:
        """Return where the store keeps it."""
        return Key(self.resource.id, self.namespace, self.name)

    def missing(self) -> Refusal:
        """Return the refusal for an object that is not there."""
        return not_found(self.resource.plural, self.resource.group, self.name)


@attrs.frozen(kw_only=True)
class Options:
    """What a request's query and body ask beside the object itself."""

    dry_run: bool = False
    strict: bool = False
    warnings: list[str] = attrs.field(factory=list)


class Api:
    """Creates, reads, changes and deletes objects as the API server does."""

    def __init__(self, store: Store, catalog: Catalog, webhooks: Webhooks) -> None:
        self._store = store
        self._catalog = catalog
        self._webhooks = webhooks

    def create(self, target: Target, body: Any, options: Options) -> Obj:
        """Create an object.

        Raises:
            Refusal: Whatever is wrong with it.
        """
        resource = target.resource
        self._require_namespace(target.namespace)
        obj = self._read(target, body, options)
        self._check_kind(resource, body)
        metadata = obj.setdefault("metadata", {})
        if metadata.get("namespace", target.namespace) != target.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        for name in (*_SERVERS_OWN, "resourceVersion"):
            metadata.pop(name, None)
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = generated(metadata["generateName"])
        metadata.setdefault("name", "")
        if target.namespace:
            metadata["namespace"] = target.namespace
        key = Key(resource.id, target.namespace, metadata["name"])
        self._default_and_check(resource, obj)
        if options.dry_run:
            return _dry(obj)
        try:
            made = self._store.create(key, obj)
        except TakenError as error:
            raise answers.already_exists(resource.plural, resource.group, key.name) from error
        self._created(resource, made)
        return made

    def _default_and_check(self, resource: Resource, obj: Obj) -> None:
        if resource.schema is not None:
            structural.fill(obj, resource.schema)
            found = structural.causes(obj, resource.schema)
            if found:
                raise invalid(resource.kind, resource.group, name_of(obj), found)
            self._webhooks.mutate(resource, obj)
            self._webhooks.admit(resource, obj)
        else:
            fill_in(resource.id, obj)
        check(resource, obj)
        if resource.id == "pods":
            self.admit_pod(obj)

    def admit_pod(self, pod: Obj) -> None:
        """Refuse a pod that admission does not let in.

        Raises:
            Refusal: 403 mostly.
        """
        namespace, account = pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]
        known = account == "default" or self._store.get(Key("serviceaccounts", namespace, account)) is not None
        check_service_account(pod, known=known)
        self._webhooks.admit_pod(pod)

    def _created(self, resource: Resource, obj: Obj) -> None:
        """Do what follows from a new or changed object at once, before it is answered."""
        if resource.id == "namespaces":
            key = Key("serviceaccounts", name_of(obj), "default")
            with contextlib.suppress(TakenError):
                metadata = {"name": key.name, "namespace": key.namespace}
                self._store.create(key, {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": metadata})
        if resource.id == "customresourcedefinitions.apiextensions.k8s.io":
            self._catalog.define(obj)

    def _read(self, target: Target, body: Any, options: Options) -> Obj:
        resource = target.resource
        if not isinstance(body, dict):
            raise bad_request(f"the object provided is unrecognized: {json.dumps(body)[:60]}")
        self._check_kind(resource, body)
        if resource.schema is None:
            decoded = decode(body, resource)
        else:
            self._webhooks.decode(resource, body)
            unknown: list[str] = []
            decoded = Decoded(structural.pruned(body, resource.schema, unknown), unknown)
        if decoded.unknown and options.strict:
            listed = ", ".join(f'unknown field "{field}"' for field in decoded.unknown)
            kind, version = resource.kind, resource.version
            why = f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: {listed}'
            raise bad_request(why)
        options.warnings.extend(f'unknown field "{field}"' for field in decoded.unknown)
        return {"kind": resource.kind, "apiVersion": resource.api_version} | copy.deepcopy(decoded.obj)

    @staticmethod
    def _check_kind(resource: Resource, body: Obj) -> None:
        kind, version = body.get("kind", resource.kind), body.get("apiVersion", resource.api_version)
        if kind == resource.kind and version == resource.api_version:
            return
        shown, group = version.rpartition("/")[2], resource.group or "core"
        why = f"converting ({shown}.{kind}) to ({group}.{resource.kind}): unknown conversion"
        raise bad_request(f'{kind} in version "{shown}" cannot be handled as a {resource.kind}: {why}')

    def _require_namespace(self, namespace: str) -> None:
        if namespace and self._store.get(Key("namespaces", "", namespace)) is None:
            raise not_found("namespaces", "", namespace)

    def read(self, target: Target) -> Obj:
        """Return an object.

        Raises:
            Refusal: 404.
        """
        found = self._store.get(target.key)
        if found is None:
            raise target.missing()
        return found

    def listed(self, target: Target, query: dict[str, str]) -> Obj:
        """Return a list, or a page of one.

        Raises:
            Refusal: A selector cannot be read, or the page's list is forgotten.
        """
        matches = matcher(query)
        found, revision = self._store.items(target.resource.id, target.namespace)
        after: tuple[str, str] = ("", "")
        if query.get("continue"):
            token = json.loads(base64.b64decode(query["continue"]))
            after, revision = tuple(token["after"]), token["rv"]
            if not self._store.knows(revision):
                raise answers.expired("The provided continue parameter is too old to display a consistent list result.")
        chosen = [(key, obj) for key, obj in found if matches(obj) and (key.namespace, key.name) > after]
        limit = int(query.get("limit") or 0)
        metadata: Obj = {"resourceVersion": str(revision)}
        # As the recorded server does: it looks whether anything comes after the page, not whether it matches.
        if limit and len(chosen) >= limit and found[-1][0] != chosen[limit - 1][0]:
            last = chosen[limit - 1][0]
            token = {"v": "meta.k8s.io/v1", "rv": revision, "after": [last.namespace, last.name]}
            metadata["continue"] = base64.b64encode(json.dumps(token).encode()).decode()
            if not query.get("labelSelector") and not query.get("fieldSelector"):
                metadata["remainingItemCount"] = len(chosen) - limit
            chosen = chosen[:limit]
        items = [obj if target.resource.is_custom else _without_kind(obj) for _, obj in chosen]
        kind, version = f"{target.resource.kind}List", target.resource.api_version
        return {"kind": kind, "apiVersion": version, "metadata": metadata, "items": items}

    def replace(self, target: Target, body: Any, options: Options) -> Obj:
        """Put another object in the place of one.

        Raises:
            Refusal: 404, 409 when it changed meanwhile, 422.
        """
        after = self._read(target, body, options)
        version = after.get("metadata", {}).get("resourceVersion")
        return self._keep(target, lambda _: after, version, options)

    def patch(self, target: Target, body: Any, content_type: str, options: Options) -> Obj:
        """Change a part of an object; an apply creates it where it is not there.

        Raises:
            Refusal: 404, 409, 415, 422.
        """
        before = self._store.get(target.key)
        if before is None and content_type.startswith(APPLY):
            return self.create(target, {**body, "metadata": {**body.get("metadata", {}), "name": target.name}}, options)
        if before is None:
            raise target.missing()
        version = body.get("metadata", {}).get("resourceVersion") if isinstance(body, dict) else None

        def change(current: Obj) -> Obj:
            return self._read(target, patched(current, body, content_type), options)

        return self._keep(target, change, version, options)

    def _keep(self, target: Target, change: Callable[[Obj], Obj], version: str | None, options: Options) -> Obj:
        """Change what is there; whoever names no version changes whichever there is by then."""
        while True:
            before = self.read(target)
            after = _carried_over(target, before, copy.deepcopy(change(before)))
            if target.subresource != "status":
                self._check_change(target, before, after)
            if options.dry_run:
                return after
            current = version or before["metadata"]["resourceVersion"]
            try:
                kept = self._store.update(target.key, lambda obj, to=after: _become(obj, to), version=current)  # type: ignore[misc]  # mypy cannot type the default
            except StaleError as error:
                if version is None:
                    continue
                raise conflict(target.resource.plural, target.resource.group, target.name) from error
            if kept is None:
                raise target.missing()
            self._created(target.resource, kept)
            return kept

    def _check_change(self, target: Target, before: Obj, after: Obj) -> None:
        resource = target.resource
        if resource.schema is None:
            check_change(resource, before, after)
            return
        structural.fill(after, resource.schema)
        self._webhooks.admit_change(resource, before, after)
        found = structural.causes(after, resource.schema)
        if found:
            raise invalid(resource.kind, resource.group, target.name, found)

    def delete(self, target: Target, options: Obj) -> Obj:
        """Delete an object the way the options ask.

        Raises:
            Refusal: 404, or 409 where it is not the one that was meant.
        """
        before = self.read(target)
        self._check_preconditions(target, before, options.get("preconditions") or {})
        if options.get("dryRun"):
            return before
        if target.resource.id == "pods":
            return stop_pod(self._store, target.key, options.get("gracePeriodSeconds")) or before
        propagation = self._propagation(target.resource, options)
        if target.resource.id == "namespaces":
            self._empty(target.name)
        stays = ask_to_go(self._store, target.key, propagation)
        if stays is not None:
            return stays
        resource = target.resource
        uid = before["metadata"]["uid"]
        return answers.success(name=target.name, group=resource.group, plural=resource.plural, uid=uid)

    @staticmethod
    def _propagation(resource: Resource, options: Obj) -> Propagation:
        if options.get("orphanDependents"):
            return "Orphan"
        # Jobs alone keep what the first version of the API did.
        unsaid: Propagation = "Orphan" if resource.id == "jobs.batch" else "Background"
        chosen: Propagation = options.get("propagationPolicy") or unsaid
        return chosen

    @staticmethod
    def _check_preconditions(target: Target, obj: Obj, preconditions: Obj) -> None:
        for name in ("uid", "resourceVersion"):
            wanted = preconditions.get(name)
            if wanted and wanted != obj["metadata"][name]:
                shown = {"uid": "UID", "resourceVersion": "ResourceVersion"}[name]
                why = f"the {shown} in the precondition ({wanted}) does not match the {shown} in record "
                why += f"({obj['metadata'][name]}). The object might have been deleted and then recreated"
                raise conflict(target.resource.plural, target.resource.group, target.name, why)

    def _empty(self, namespace: str) -> None:
        # Owners before what they own, so that nothing is made again meanwhile.
        resources = sorted(self._catalog.namespaced(), key=lambda each: (not each.is_custom, each.id != "jobs.batch"))
        for resource in resources:
            for key, _ in self._store.items(resource.id, namespace)[0]:
                if resource.id == "pods":
                    stop_pod(self._store, key, 0)
                else:
                    ask_to_go(self._store, key)

    def delete_collection(self, target: Target, query: dict[str, str], options: Obj) -> Obj:
        """Delete what a list would show; returns that list."""
        shown = self.listed(target, {**query, "limit": ""})
        for obj in shown["items"]:
            self.delete(
                attrs.evolve(target, name=name_of(obj), namespace=obj["metadata"].get("namespace", "")), options
            )
        return shown


def matcher(query: dict[str, str]) -> Matcher:
    """Return what tells whether an object matches a request's selectors.

    Raises:
        Refusal: One cannot be read.
    """
    labels = label_matcher(query.get("labelSelector", ""))
    fields = field_matcher(query.get("fieldSelector", ""))
    return lambda obj: labels(obj) and fields(obj)


def _without_kind(obj: Obj) -> Obj:
    return {name: value for name, value in obj.items() if name not in {"kind", "apiVersion"}}


def _dry(obj: Obj) -> Obj:
    metadata = obj["metadata"]
    return identified(obj, Key("", metadata.get("namespace", ""), metadata["name"]))


def _carried_over(target: Target, before: Obj, after: Obj) -> Obj:
    """Return the new state with what a client cannot write as it was."""
    metadata = after.setdefault("metadata", {})
    for name in (*_SERVERS_OWN, "resourceVersion"):
        metadata.pop(name, None)
        if name in before["metadata"]:
            metadata[name] = before["metadata"][name]
    if target.subresource == "status":
        return {**before, "status": after.get("status", {})}
    if "status" in target.resource.subresources:
        after.pop("status", None)
        if "status" in before:
            after["status"] = before["status"]
    return after


def _become(obj: Obj, after: Obj) -> None:
    obj.clear()
    obj.update(copy.deepcopy(after))
