"""What is served: groups, versions, resources, and the discovery documents about them."""

from typing import Final

import attrs

from tests.fakes.kube.answers import NoSuchPath, qualified, unknown_resource
from tests.fakes.kube.objects import Obj

VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
# Groups that a real server names in `/apis` though nothing of them is served here.
OTHER_GROUPS: Final = {
    "admissionregistration.k8s.io": ("v1",),
    "apiregistration.k8s.io": ("v1",),
    "autoscaling": ("v2", "v1"),
    "certificates.k8s.io": ("v1",),
    "discovery.k8s.io": ("v1",),
    "events.k8s.io": ("v1",),
    "flowcontrol.apiserver.k8s.io": ("v1",),
    "networking.k8s.io": ("v1",),
    "node.k8s.io": ("v1",),
    "policy": ("v1",),
    "resource.k8s.io": ("v1",),
    "scheduling.k8s.io": ("v1",),
    "storage.k8s.io": ("v1",),
}


@attrs.frozen(kw_only=True)
class Resource:
    """One kind of object as the API serves it."""

    plural: str
    kind: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    singular: str = ""
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS
    categories: tuple[str, ...] = ()
    schema: Obj | None = None

    @property
    def id(self) -> str:
        """Return the name under which the store keeps it."""
        return qualified(self.plural, self.group)

    @property
    def api_version(self) -> str:
        """Return what stands in the objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_custom(self) -> bool:
        """Tell whether a definition brought it."""
        return self.schema is not None

    def described(self) -> list[Obj]:
        """Return the entries of the discovery document, subresources too."""
        entry: Obj = {
            "name": self.plural,
            "singularName": self.singular or self.kind.lower(),
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": list(self.verbs),
        }
        if self.categories:
            entry["categories"] = list(self.categories)
        if "get" in self.verbs:
            entry["storageVersionHash"] = "AAAAAAAAAAA="
        sub = [
            {
                "name": f"{self.plural}/{name}",
                "singularName": "",
                "namespaced": self.namespaced,
                "kind": self.kind,
                "verbs": ["get", "patch", "update"] if name == "status" else ["create", "get"],
            }
            for name in self.subresources
        ]
        return [entry, *sub]


def _reviews() -> list[Resource]:
    kinds = {
        "selfsubjectaccessreviews": "SelfSubjectAccessReview",
        "selfsubjectrulesreviews": "SelfSubjectRulesReview",
        "subjectaccessreviews": "SubjectAccessReview",
    }
    return [
        Resource(plural=plural, kind=kind, group="authorization.k8s.io", namespaced=False, verbs=("create",))
        for plural, kind in kinds.items()
    ]


def _rbac() -> list[Resource]:
    return [
        Resource(plural=f"{kind.lower()}s", kind=kind, group="rbac.authorization.k8s.io", namespaced=namespaced)
        for kind, namespaced in {
            "Role": True,
            "RoleBinding": True,
            "ClusterRole": False,
            "ClusterRoleBinding": False,
        }.items()
    ]


BUILT_IN: Final = (
    Resource(plural="configmaps", kind="ConfigMap"),
    Resource(plural="events", kind="Event"),
    Resource(plural="namespaces", kind="Namespace", namespaced=False, subresources=("status",)),
    Resource(plural="nodes", kind="Node", namespaced=False, subresources=("status",)),
    Resource(
        plural="pods",
        kind="Pod",
        subresources=("eviction", "log", "portforward", "status"),
        categories=("all",),
    ),
    Resource(plural="persistentvolumeclaims", kind="PersistentVolumeClaim", subresources=("status",)),
    Resource(plural="resourcequotas", kind="ResourceQuota", subresources=("status",)),
    Resource(plural="secrets", kind="Secret"),
    Resource(plural="serviceaccounts", kind="ServiceAccount", subresources=("token",)),
    Resource(plural="services", kind="Service", subresources=("status",), categories=("all",)),
    Resource(plural="statefulsets", kind="StatefulSet", group="apps", subresources=("status",), categories=("all",)),
    Resource(plural="cronjobs", kind="CronJob", group="batch", subresources=("status",), categories=("all",)),
    Resource(plural="jobs", kind="Job", group="batch", subresources=("status",), categories=("all",)),
    Resource(plural="leases", kind="Lease", group="coordination.k8s.io"),
    Resource(
        plural="customresourcedefinitions",
        kind="CustomResourceDefinition",
        group="apiextensions.k8s.io",
        namespaced=False,
        subresources=("status",),
    ),
    *_reviews(),
    Resource(
        plural="selfsubjectreviews",
        kind="SelfSubjectReview",
        group="authentication.k8s.io",
        namespaced=False,
        verbs=("create",),
    ),
    *_rbac(),
)


class Catalog:
    """The resources served now: the built-in ones, and those of custom definitions."""

    def __init__(self) -> None:
        self._served = {(each.group, each.version, each.plural): each for each in BUILT_IN}

    def find(self, group: str, version: str, plural: str) -> Resource:
        """Return the resource of a path.

        Raises:
            NoSuchPath: Nothing of that group and version is served.
            Refusal: The group has no such resource.
        """
        found = self._served.get((group, version, plural))
        if found is None:
            self._require(group, version)
            raise unknown_resource()
        return found

    def by_id(self, resource: str) -> Resource | None:
        """Return the resource that the store keeps under that name."""
        return next((each for each in self._served.values() if each.id == resource), None)

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource of an object."""
        served = self._served.values()
        return next((each for each in served if each.api_version == api_version and each.kind == kind), None)

    def namespaced(self) -> list[Resource]:
        """Return the resources whose objects are in namespaces."""
        return [each for each in self._served.values() if each.namespaced and "list" in each.verbs]

    def define(self, definition: Obj) -> None:
        """Serve what a custom resource definition describes, in each of its served versions."""
        spec = definition["spec"]
        names = spec["names"]
        for version in spec["versions"]:
            if version["served"]:
                made = Resource(
                    plural=names["plural"],
                    kind=names["kind"],
                    singular=names.get("singular", ""),
                    group=spec["group"],
                    version=version["name"],
                    namespaced=spec["scope"] == "Namespaced",
                    subresources=tuple(version.get("subresources") or ()),
                    schema=version["schema"]["openAPIV3Schema"],
                )
                self._served[made.group, made.version, made.plural] = made

    def withdraw(self, definition: Obj) -> None:
        """Serve it no more."""
        spec = definition["spec"]
        for version in spec["versions"]:
            self._served.pop((spec["group"], version["name"], spec["names"]["plural"]), None)

    def _groups(self) -> dict[str, tuple[str, ...]]:
        groups: dict[str, tuple[str, ...]] = dict(OTHER_GROUPS)
        for group, version, _ in self._served:
            if group and version not in groups.get(group, ()):
                groups[group] = (*groups.get(group, ()), version)
        return groups

    def _require(self, group: str, version: str) -> None:
        if group and version not in self._groups().get(group, ()):
            raise NoSuchPath

    def group_list(self) -> Obj:
        """Return the answer to `/apis`."""
        groups = [self._group(name, versions) for name, versions in self._groups().items()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> Obj:
        """Return the answer to `/apis/<group>`.

        Raises:
            NoSuchPath: It is not served.
        """
        versions = self._groups().get(name)
        if versions is None:
            raise NoSuchPath
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name, versions)}

    def resource_list(self, group: str, version: str) -> Obj:
        """Return the answer to `/api/v1` or `/apis/<group>/<version>`.

        Raises:
            NoSuchPath: It is not served.
        """
        self._require(group, version)
        served = [each for key, each in self._served.items() if key[:2] == (group, version)]
        entries = [entry for each in served for entry in each.described()]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": sorted(entries, key=lambda entry: str(entry["name"])),
        }

    @staticmethod
    def _group(name: str, versions: tuple[str, ...]) -> Obj:
        listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
        return {"name": name, "versions": listed, "preferredVersion": listed[0]}
